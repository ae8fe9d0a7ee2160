/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * feed_bytes.h - which bytes of a line other CPUs wrote since this CPU last accessed those bytes.
 *
 * A transfer for such a byte is true sharing: it would happen in a line of its own as well. Any
 * other transfer only brings a neighbour's bytes.
 *
 * Concurrency: the model's thread only.
 */
#ifndef PLUGIN_FEED_BYTES_H
#define PLUGIN_FEED_BYTES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct feed_bytes - one line; all zero: nobody has accessed it
 * @unseen: by CPU: bit b is set when another CPU wrote byte b after this CPU's last access to it
 * @n: CPUs that @unseen has room for; the others have accessed nothing, and see @written
 * @written: every byte that was written so far
 * @writer: number + 1 of the CPU that wrote last; 0: none
 */
struct feed_bytes {
	uint64_t *unseen;
	uint64_t written;
	uint32_t n, writer;
};

/**
 * feed_bytes_access - a CPU writes @size bytes (1 to 64) from @offset on, inside the line, or its
 * load brought them. A load that hits needs no call: then each write of another CPU explains one
 * transfer, although stores reach the line later than the CPU executes them.
 *
 * Return: did another CPU write one of them since this CPU last accessed it? Aborts without memory.
 */
bool feed_bytes_access(struct feed_bytes *b, uint32_t cpu, uint32_t offset, uint32_t size,
		       bool write);

#endif
