/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * feed_bytes.h - which bytes of a line other CPUs wrote since this CPU last accessed those bytes.
 *
 * A transfer for such a byte is true sharing: it would also happen if the byte had a line to
 * itself. Any other transfer is false sharing: a neighbour's bytes cause it.
 *
 * Concurrency: the model's thread only.
 */
#ifndef PLUGIN_FEED_BYTES_H
#define PLUGIN_FEED_BYTES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct feed_bytes - one line; all zero: nobody has accessed it
 * @unseen: per CPU: bit b is set when another CPU wrote byte b after this CPU's last access to it
 * @n: CPUs that @unseen has room for; other CPUs have accessed nothing, and @written holds for them
 * @written: every byte that was written so far
 */
struct feed_bytes {
	uint64_t *unseen;
	uint64_t written;
	uint32_t n;
};

/**
 * feed_bytes_access - a CPU writes @size bytes (1 to 64) from @offset on, inside the line, or its
 * load has brought them. Do not call it for a load that hits. Then each write of another CPU
 * explains one transfer, although stores reach the line later than the CPU executes them.
 *
 * Return: has another CPU written one of these bytes since this CPU last accessed it? Aborts
 * without memory.
 */
bool feed_bytes_access(struct feed_bytes *b, uint32_t cpu, uint32_t offset, uint32_t size,
		       bool write);

#endif
