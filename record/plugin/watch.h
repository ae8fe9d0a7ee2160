/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * watch.h - what the plugin watches: a small text file, with a keyword and its values per line.
 *
 *   text LOW HIGH             report the accesses of instructions from LOW on, below HIGH
 *   function NAME LOW HIGH    count calls of NAME, from its first instruction to its return, with
 *                             its callees; several functions may have one name, and of those that
 *                             call each other only the outer one counts
 *   cold NAME LOW HIGH        another part of the function NAME, without its beginning
 *   machine PATH              the machine file with topology and latencies of the model; without
 *                             it the plugin counts functions and ignores accesses
 *   cpu N                     the machine's CPU that the next guest CPU stands for, once each
 *   node LOW HIGH N           guest-physical memory from LOW on, below HIGH, is the machine's
 *                             node N
 *   quantum N                 a CPU waits when it is more than N instructions ahead of the slowest;
 *                             0: it never waits
 *   result PATH               file for the result
 *   trace PATH                file for a trace, for a replay
 *   stop                      end the emulator once the result is written
 *   pad LOW HIGH              replay: move bytes from LOW on, below HIGH, at most a page, to
 *                             separate lines; in order
 *   program                   replay: the trace is that of a program's threads, so the replay reads
 *                             it as the model advances, the result is detailed, and hits take no
 *                             time beyond their instructions, except shortly after a miss
 *
 * Numbers are hexadecimal with 0x, else decimal. Lines that are empty or begin with # are ignored.
 *
 * Concurrency: constant once read.
 */
#ifndef PLUGIN_WATCH_H
#define PLUGIN_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "feed.h"

#define WATCH_FUNCTIONS 64u

struct watch_range {
	uint64_t low, high;
};

/**
 * struct watch_part - one range of a counted function
 * @entry: its first instruction, 0 for a part that is reached only by jumps
 * @function: index of its name
 */
struct watch_part {
	struct watch_range range;
	uint64_t entry;
	uint32_t function;
};

struct watch {
	struct watch_range *text;
	uint32_t nr_text;
	struct watch_part *part;
	uint32_t nr_parts;
	char *function[WATCH_FUNCTIONS];
	uint32_t nr_functions;
	struct feed_setup setup; /* without its machine */
	char *machine, *result, *trace;
	uint64_t quantum;
	bool stop, program;
};

struct watch_error {
	char text[256];
};

/** watch_read - Return: 0, or -1 with one line in @err. */
int watch_read(struct watch *w, const char *path, struct watch_error *err);
/* watch_read() of a text in memory, which the function changes. */
int watch_parse(struct watch *w, char *text, const char *name, struct watch_error *err);
void watch_free(struct watch *w);

/** watch_text - are accesses of the instruction at @pc reported? */
bool watch_text(const struct watch *w, uint64_t pc);

/**
 * watch_in_function - does any range of a function contain @pc?
 */
bool watch_in_function(const struct watch *w, uint32_t function, uint64_t pc);

#endif
