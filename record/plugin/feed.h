/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * feed.h - runs the simulated machine on actions of guest CPUs (item.h) instead of programs.
 *
 * A CPU's clock advances by its instructions, one cycle each unless a miss was shortly before
 * (feed.c). For each access among its items the clock also advances by the coherence model's time.
 * The CPU furthest behind always continues. So accesses of different CPUs reach the model in the
 * order of the clocks, whatever the order in which the emulator executed them.
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
#define FEED_MAX_PADS  131072u
/*
 * In recordings of programs the FEED_NEAR instructions after an access that misses in the model run
 * at FEED_WIDTH per cycle. So they do in the experiment primitives, where branches are predicted
 * and data is in the L1 cache. Other instructions take one cycle each, because they have misses
 * that the model lacks. Hits among the instructions near a miss take the machine's time. So a CPU
 * that just got a line may lose it before its next access to that line. Both numbers are estimates.
 */
#define FEED_NEAR  64u
#define FEED_WIDTH 4u

enum feed_got {
	FEED_ITEM,  /* here is one */
	FEED_TIME,  /* no item, but the CPU has executed item->instr instructions */
	FEED_EMPTY, /* no item yet */
	FEED_END,   /* no item will come */
};

/**
 * struct feed_source - the source of items
 * @get: the next item of a CPU
 * @ready: would @get return anything but FEED_EMPTY and FEED_TIME?
 * @wait: called when no CPU can do anything until more items come
 * @idle: called before @wait while all CPUs are idle. Returns the sum of all idle times so far, in
 *	picoseconds, except those that ITEM_RESUME states. NULL: ITEM_RESUME states all of them
 * @news: changes whenever an idle CPU may have become ready; NULL: all items are there from the
 *	start
 * @due: when feed_clock() reaches *@due, the feed calls @alarm; NULL: never
 * @alarm: see @due
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

/* Memory from @low on, below @high, belongs to a node of the machine. */
struct feed_node {
	uint64_t low, high; /* physical */
	uint32_t node;
};

/* Bytes from @low on, below @high, moved to separate lines. */
struct feed_pad {
	uint64_t low, high;
};

/**
 * struct feed_setup - the model's inputs
 * @machine: topology and latencies
 * @cpu: per guest CPU: the machine's CPU that it stands for
 * @nr_cpus: how many guest CPUs
 * @node: which memory belongs to which node; other lines belong to all nodes in turn
 * @pad: the moved bytes, in order, without overlaps
 * @hits_free: a load or store that hits takes no time beyond its instruction, also after
 *	a locked operation, unless an access missed shortly before. Most lines of a program
 *	are private, and the model does not see their accesses. So a line costs the same when
 *	it is shared and hits, and when its bytes are moved apart. Stores that missed leave
 *	the buffer as slowly as on the machine, so a CPU that stores in nearly each
 *	instruction still waits for its buffer
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
	bool hits_free, detailed;
};

struct feed;

/** feed_new - Return: a model; NULL if there is no memory, or two guest CPUs stand for one CPU. */
struct feed *feed_new(const struct feed_setup *setup, const struct feed_source *source);
void feed_free(struct feed *f);

/**
 * feed_run - run until every CPU has ended.
 */
void feed_run(struct feed *f);

/**
 * feed_offset - the part of a CPU's clock that is not instructions.
 *
 * Return: picoseconds; add instructions times feed_instruction() for the clock.
 */
uint64_t feed_offset(const struct feed *f, uint32_t cpu);

/**
 * feed_done - how many of a CPU's instructions the model has processed.
 */
uint64_t feed_done(const struct feed *f, uint32_t cpu);

/**
 * feed_clock - the time that all CPUs have reached: the clock of the CPU furthest behind. While all
 * are idle, it is the latest clock plus the time that feed_source.idle returns.
 *
 * Return: picoseconds that never decrease; the thread in feed_run() writes them, any thread reads.
 */
const uint64_t *feed_clock(const struct feed *f);

/** feed_instruction - picoseconds of one instruction. */
uint64_t feed_instruction(const struct feed *f);

/** feed_machine_json - set "machine" in @into. */
void feed_machine_json(const struct machine *m, json_t *into);

/**
 * feed_json - set "machine", "model" and "lines" in @into, the results. After feed_run().
 */
void feed_json(const struct feed *f, json_t *into);

#endif
