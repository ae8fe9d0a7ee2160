/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * sleepers.h - threads that sleep until a time, measure how late they wake up, work briefly, and
 * sleep again. Both stress-ng --cyclic and cyclictest do that.
 */
#ifndef EXPERIMENTS_SLEEPERS_H
#define EXPERIMENTS_SLEEPERS_H

#include "rt_body.h"

/**
 * struct sleepers - one thread per simulated CPU
 * @run: the run
 * @level: the highest RT level of the threads
 * @levels: number of levels, descending from thread to thread; 0 or 1: all threads have one level
 * @group: threads are pinned in groups of this many CPUs, and the variant "partition" makes each
 *	group a root domain; 0: all threads may run anywhere
 * @interval: picoseconds of a sleep
 * @work: picoseconds of user time per cycle
 * @spinners: threads that never sleep, at the lowest level, pinned to the first two CPUs
 * @absolute: the next time is @interval after the last target time, not after now
 */
struct sleepers {
	struct run *run;
	int level;
	u64 interval, work;
	bool absolute;
	int levels;
	u32 group;
	u32 spinners;
};

/**
 * struct sleepers_result - latencies in picoseconds, from the target time
 * @cycles: number of measured cycles
 * @late: all measured latencies, sorted
 * @spun: the spinners' share of the time of their two CPUs
 */
struct sleepers_result {
	u64 cycles;
	u64 *late;
	double seconds, mean, spun;
};

/**
 * sleepers_run - run, and report the figures of every RT experiment. Returns 0, or -1 after
 * run_fail().
 */
int sleepers_run(const struct sleepers *s, struct sleepers_result *result);

#endif
