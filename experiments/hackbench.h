/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * hackbench.h - the load of hackbench: groups of senders and receivers. Every sender sends one
 * message after the other to each receiver of its group in turn.
 */
#ifndef EXPERIMENTS_HACKBENCH_H
#define EXPERIMENTS_HACKBENCH_H

#include "fair/fair.h"

/**
 * struct hackbench - one run
 * @received: messages
 * @on: count them
 * @over: senders and receivers end
 * @step: its threads call it often
 * @arg: for @step
 */
struct hackbench {
	u64 received;
	bool on, over;
	void (*step)(struct fair_cpu *me, void *arg);
	void *arg;

	/* Private. */
	struct hack_group *group;
	struct hack_thread *thread;
	u32 nr_groups, nr_threads;
	u64 work;
};

/**
 * hackbench_new - make its threads; they start with fair_fork().
 * @tasks: senders and receivers of all groups, at least 2
 * @pairs: senders, and receivers, of a full group
 * @capacity: messages that a receiver's socket holds
 * @work: picoseconds of user time a message
 */
void hackbench_new(struct hackbench *h, struct fair *f, u32 tasks, u32 pairs, u32 capacity,
		   u64 work);
void hackbench_free(struct hackbench *h);

/**
 * hackbench_thread - the @i-th thread, below @nr_threads: receivers of a group before its senders.
 */
struct fair_thread *hackbench_thread(const struct hackbench *h, u32 i);

/**
 * hackbench_llcs - number of last-level caches that the tasks of a group use, on average.
 */
double hackbench_llcs(const struct hackbench *h, const struct model *model);

#endif
