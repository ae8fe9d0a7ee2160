/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * feed.h - the simulated machine, fed with what guest CPUs did instead of with programs.
 *
 * A CPU's clock moves by one cycle an instruction and by what the coherence model says for each
 * access that it is told of. The CPU that is furthest behind goes on, as always in the simulated
 * machine, so that accesses of different CPUs meet in the order of their clocks, whatever the order
 * in which the emulator happened to execute them.
 *
 *   feed_run()                  in one thread; one at a time in a process (the machine is one)
 *   feed_offset(), feed_done()  any thread, at any time while the feed lives
 */
#ifndef PLUGIN_FEED_H
#define PLUGIN_FEED_H

#include <jansson.h>

#include "item.h"

struct machine;

#define FEED_MAX_CPUS  1024u
#define FEED_MAX_NODES 64u
#define FEED_MAX_PADS  4096u

enum feed_got {
	FEED_ITEM,  /* here is one */
	FEED_TIME,  /* none, but the CPU has executed instructions: item->instr says how many */
	FEED_EMPTY, /* none yet */
	FEED_END,   /* none will come */
};

/**
 * struct feed_source - where items come from
 * @get: the next item of a CPU
 * @ready: would @get return anything but FEED_EMPTY and FEED_TIME?
 * @wait: called when nothing can be done until somebody has more
 * @idle: called, before @wait, while all CPUs are idle. Returns the picoseconds that all idle times
 *	have lasted
 *	until now, together, besides those that it was told of by ITEM_RESUME. NULL: what those say
 * @news: changes whenever a CPU that was idle may have become ready; NULL: everything is ready
 *	from the start
 * @due: when the clock that feed_clock() is about has come to this, @alarm is called; NULL: never
 * @alarm: what is to be done then
 */
struct feed_source {
	enum feed_got (*get)(void *arg, uint32_t cpu, struct item *item);
	bool (*ready)(void *arg, uint32_t cpu);
	void (*wait)(void *arg);
	uint64_t (*idle)(void *arg);
	const uint64_t *news;
	const uint64_t *due;
	void (*alarm)(void *arg);
	void *arg;
};

/* Memory from @low on, below @high, is that of a node of the machine. */
struct feed_node {
	uint64_t low, high; /* physical */
	uint32_t node;
};

/* Bytes from @low on, below @high, that lie in lines of their own instead. */
struct feed_pad {
	uint64_t low, high;
};

/**
 * struct feed_setup - what the model needs to know
 * @machine: topology and latencies
 * @cpu: by guest CPU: the machine's CPU that it stands for
 * @nr_cpus: how many
 * @node: where memory is; a line in none of them belongs to all nodes in turn
 * @pad: what is moved, in order, without overlaps
 * @detailed: the result also says which CPUs made each access, and how long each was at work
 */
struct feed_setup {
	const struct machine *machine;
	uint32_t cpu[FEED_MAX_CPUS];
	uint32_t nr_cpus;
	struct feed_node node[FEED_MAX_NODES];
	uint32_t nr_nodes;
	struct feed_pad *pad;
	uint32_t nr_pads;
	bool detailed;
};

struct feed;

/** feed_new - NULL when memory is short, or when two guest CPUs stand for the same one. */
struct feed *feed_new(const struct feed_setup *setup, const struct feed_source *source);
void feed_free(struct feed *f);

/** feed_run - until every CPU has come to its end. */
void feed_run(struct feed *f);

/**
 * feed_offset - the part of a CPU's clock that is not instructions.
 *
 * Return: picoseconds; add instructions times feed_instruction() for the clock.
 */
uint64_t feed_offset(const struct feed *f, uint32_t cpu);

/** feed_done - how many of a CPU's instructions the model has been told of. */
uint64_t feed_done(const struct feed *f, uint32_t cpu);

/**
 * feed_clock - how far all CPUs have come: the clock of the one that is furthest behind, or, while
 * all are idle, the latest of all and what @idle said.
 *
 * Return: picoseconds that never decrease, written by the thread in feed_run(), read by any.
 */
const uint64_t *feed_clock(const struct feed *f);

/** feed_instruction - picoseconds of one instruction. */
uint64_t feed_instruction(const struct feed *f);

/**
 * feed_json - what was found: "machine", "model" and "lines" are set in @into. After feed_run().
 */
void feed_json(const struct feed *f, json_t *into);

#endif
