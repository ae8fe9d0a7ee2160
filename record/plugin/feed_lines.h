/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * feed_lines.h - maps lines of the guest's memory to lines of the simulated machine.
 *
 * Concurrency: the model's thread only.
 */
#ifndef PLUGIN_FEED_LINES_H
#define PLUGIN_FEED_LINES_H

#include <jansson.h>
#include <stdint.h>

#include "feed_bytes.h"

struct feed_setup;
struct model;

/**
 * struct feed_lines - guest lines and simulated lines
 * @setup: where the guest's memory is
 * @slot: hash table: number of the guest's line + 1, 0 for a free slot
 * @arena: per slot: the simulated machine's line
 * @mask: slots - 1
 * @guest: per line of the simulated machine: the guest's line
 * @writer: per line of the simulated machine: the CPU that wrote it last, and its instruction
 * @bytes: per line of the simulated machine: which bytes each CPU has not seen; only if the result
 *	is detailed
 * @home: hash table of pages whose node is known, page + 1
 */
struct feed_lines {
	const struct feed_setup *setup;
	struct {
		uint64_t page;
		uint32_t node;
	} * home;
	uint32_t home_mask, nr_homes;
	uint64_t *slot;
	uint32_t *arena;
	uint32_t mask, n;
	uint64_t *guest;
	struct feed_writer {
		uint64_t instr;
		uint32_t cpu;
	} * writer;
	struct feed_bytes *bytes;
	uint32_t cap;
};

/* After sim_init(). Return: 0, or -1 if there is no memory. */
int feed_lines_init(struct feed_lines *l, const struct feed_setup *setup);
void feed_lines_free(struct feed_lines *l);

/**
 * feed_lines_at - return the simulated byte of a guest's byte (struct item). Makes its line if it
 * is new.
 */
char *feed_lines_at(struct feed_lines *l, uint64_t place);

/** feed_lines_moved - return the place to which a byte is moved, or its own. */
uint64_t feed_lines_moved(const struct feed_lines *l, uint64_t place);

/** feed_lines_edited - are bytes of this byte's line moved? */
bool feed_lines_edited(const struct feed_lines *l, uint64_t place);

/*
 * Bit of an access's program counter in the model: the access needs a byte that another CPU wrote
 * since this CPU's last access (feed_bytes.h). So records distinguish true from false sharing.
 */
#define FEED_FOREIGN (1ull << 50)

/**
 * feed_lines_note - record that guest CPU @cpu, which runs, has accessed @at. Only for a detailed
 * result. Call it after the access, because others may have written the bytes while the CPU waited.
 *
 * Return: did the line come from elsewhere?
 */
bool feed_lines_note(struct feed_lines *l, uint32_t cpu, const char *at, uint32_t size, bool write,
		     const void *pc);

/** feed_lines_home - set the home node of the page's lines that the model makes from now on. */
void feed_lines_home(struct feed_lines *l, uint64_t place, uint32_t node);

/**
 * feed_lines_json - write the number of lines ("nr_lines"), and their sums of HITM and of cycles,
 * to @into, then pass the 1,024 hottest lines to @line. The cycles, and in a detailed result the
 * number, are of lines that several CPUs used
 * @line: called with each of these lines, the hottest first, and with @arg; frees the line
 */
void feed_lines_json(const struct feed_lines *l, const struct model *m, json_t *into,
		     void (*line)(json_t *line, void *arg), void *arg);

#endif
