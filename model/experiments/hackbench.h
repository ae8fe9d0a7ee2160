/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * hackbench.h - the load of hackbench: groups of senders and receivers. Every sender sends messages
 * to each receiver of its group in turn.
 */
#ifndef EXPERIMENTS_HACKBENCH_H
#define EXPERIMENTS_HACKBENCH_H

#include "fair/fair.h"

/**
 * struct hackbench - one run
 * @received: number of messages received
 * @on: whether messages are counted
 * @over: senders and receivers should end
 * @step: called often by the threads
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
 * hackbench_new - make the threads; they start with fair_fork().
 * @tasks: senders and receivers of all groups, at least 2
 * @pairs: number of senders, and of receivers, in a full group
 * @capacity: maximum number of messages in a receiver's socket
 * @work: picoseconds of user time per message
 */
void hackbench_new(struct hackbench *h, struct fair *f, u32 tasks, u32 pairs, u32 capacity,
		   u64 work);
void hackbench_free(struct hackbench *h);

/**
 * hackbench_thread - return thread @i, below @nr_threads: the receivers of a group come before its
 * senders.
 */
struct fair_thread *hackbench_thread(const struct hackbench *h, u32 i);

/**
 * hackbench_llcs - return the average number of last-level caches that the tasks of a group use.
 */
double hackbench_llcs(const struct hackbench *h, const struct model *model);

#endif
