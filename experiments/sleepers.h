/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * sleepers.h - threads that sleep until a time, see how late they are, do a little, and sleep
 * again: what stress-ng --cyclic and cyclictest have in common.
 */
#ifndef EXPERIMENTS_SLEEPERS_H
#define EXPERIMENTS_SLEEPERS_H

#include "rt_run.h"

/**
 * struct sleepers - one thread a simulated CPU
 * @run: the run
 * @level: the highest one
 * @levels: how many levels follow each other downwards, thread after thread; 0 and 1: all have one
 * @group: pinned in groups of so many CPUs, and with the variant "partition" each group is a root
 *         domain of its own; 0: all are free to run anywhere
 * @interval: picoseconds of a sleep
 * @work: picoseconds of user time a cycle
 * @absolute: the next time is @interval after the last one that was aimed at, not after now
 */
struct sleepers {
	struct run *run;
	int level;
	u64 interval, work;
	bool absolute;
	int levels;
	u32 group;
};

/**
 * struct sleepers_result - latencies in picoseconds, from the time aimed at
 * @cycles: how many were measured
 * @late: all measured latencies, sorted
 */
struct sleepers_result {
	u64 cycles;
	u64 *late;
	double seconds, mean;
};

/**
 * sleepers_run - run; reports what every RT experiment reports. Returns 0, or -1 after run_fail().
 */
int sleepers_run(const struct sleepers *s, struct sleepers_result *result);

#endif
