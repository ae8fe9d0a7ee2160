/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * crew.h - threads that are each pinned to one CPU, and wait for work without spinning.
 *
 * One caller at a time: crew_begin() and crew_end() alternate.
 */
#ifndef BENCH_CREW_H
#define BENCH_CREW_H

#include "port.h"

struct crew;

/**
 * crew_new() - start a thread on every CPU of a list
 * @cpu: CPU numbers, all different
 * @nr: how many, at least 1
 * @error: receives a positive errno value on failure
 * @at: receives the CPU on which it failed
 *
 * Return: the crew, or NULL, with no thread left. EINVAL: the CPU does not exist, is offline, or is
 * not allowed for this process.
 */
struct crew *crew_new(const u32 *cpu, u32 nr, int *error, u32 *at);

/** crew_free() - end the threads. NULL is allowed. */
void crew_free(struct crew *crew);

/**
 * crew_begin() - let some members work
 * @crew: the crew
 * @member: their positions in the list of CPUs, all different; NULL: the first @nr
 * @nr: how many, at least 1
 * @work: each member calls it once, with its rank among the members; they start at slightly
 *	different times
 * @arg: for @work
 */
void crew_begin(struct crew *crew, const u32 *member, u32 nr, void (*work)(u32 number, void *arg),
		void *arg);

/** crew_end() - wait until all members have finished. */
void crew_end(struct crew *crew);

/**
 * crew_moved() - return a CPU that its thread had to leave; -1: none
 *
 * The kernel moves a thread when its CPU goes offline. Measurements since then are invalid.
 */
int crew_moved(const struct crew *crew);

/*
 * Measures the time in which the calling thread could not run: wall time minus its processor time.
 */
struct crew_watch {
	double wall, cpu;
};

struct crew_watch crew_watch_start(void);

/* Nanoseconds since the start of @watch in which the calling thread did not run. */
double crew_watch_lost(const struct crew_watch *watch);

#endif
