/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The parts of schedshard-live and their interfaces.
 *
 *   live.c             topology, progress, JSON
 *   live_options.c     arguments
 *   live_rounds.c      order and number of turns, and the summary of a point's turns
 *   live_primitives.c  one turn of N threads
 *   live_ping_pong.c   one turn of two threads
 *   crew.c             threads on CPUs
 *
 * Not thread safe: concurrent measurements would disturb each other.
 */
#ifndef BENCH_LIVE_H
#define BENCH_LIVE_H

#include <err.h>

#include "crew.h"
#include "ping_pong.h"
#include "primitive.h"

#define LIVE_MAX_LINES 64

/* Print one line on stderr; the expression's value is @status. Any thread may use it. */
#define complain(status, ...) (warnx(__VA_ARGS__), (status))

/**
 * struct live_sample - the result of one turn, in nanoseconds per operation
 * @ns: mean over all threads: number of threads / (operations of all threads per nanosecond)
 * @min: time of the fastest thread
 * @max: time of the slowest thread
 * @disturbed: another task kept a thread from running
 */
struct live_sample {
	double ns, min, max;
	bool disturbed;
};

/**
 * struct live_point - one number of threads, or one pair of CPUs
 * @primitive: the operation to measure, or NULL
 * @way: the ping-pong to measure instead
 * @nr: number of threads
 * @member: positions in the crew of a ping-pong's two threads
 * @turns: turns of each player in one game of a ping-pong; 0 before the first game
 * @window: nanoseconds of a primitive's turn; 0 before the first turn
 * @spins: additions in the hold time of an operation, minimum over all turns; 0: no hold time
 * @sample: by turn: its result
 * @nr_samples: number of samples
 */
struct live_point {
	const struct primitive *primitive;
	const struct ping_pong *way;
	u32 nr, member[2];
	u64 turns;
	double window;
	u64 spins;
	struct live_sample *sample;
	u32 nr_samples;
};

/**
 * struct live - one measurement
 * @crew: a thread per CPU of @cpu
 * @cpu: CPU numbers, in the order of use
 * @node: their NUMA nodes
 * @nr_cpus: number of CPUs
 * @plan: the shard plan of this host, with the library's default number of CPUs per line
 * @pools: the plan for pools
 * @hold_ns: time between acquire and release
 * @work_ns: time between two operations
 * @lines: number of objects that an operation uses in turn, 1 to LIVE_MAX_LINES
 * @home: NUMA node of a ping-pong's line, -1: the node of its first CPU
 * @repeats: undisturbed turns wanted per point
 * @limit_ns: no turn begins later than this
 * @progress: called with the share of work done, 0 to 1, at least once per turn
 * @point: the points to measure
 * @nr_points: number of points
 */
struct live {
	struct crew *crew;
	const u32 *cpu;
	int *node;
	u32 nr_cpus;
	const struct shard_plan *plan, *pools;
	double hold_ns, work_ns;
	u32 lines;
	int home;
	u32 repeats;
	double limit_ns;
	void (*progress)(double share);
	struct live_point *point;
	u32 nr_points;
};

/*
 * Take a turn. @budget: its duration in ns. Return: 0, or the exit status after a line on stderr.
 */
int live_primitive_turn(const struct live *live, struct live_point *point, double budget,
			struct live_sample *sample);
int live_ping_pong_turn(const struct live *live, struct live_point *point, double budget,
			struct live_sample *sample);

/**
 * live_measure() - take turns until every point has enough turns, or the time is up
 *
 * Return: 0, or the exit status after a line on stderr. Points without a turn have no samples.
 */
int live_measure(struct live *live);

/**
 * struct live_summary - the summary of a point's turns
 * @median: median of the turns that count, separately for each member of the struct
 * @low: 10th percentile of live_sample.ns
 * @high: 90th percentile of live_sample.ns
 * @rounds: number of turns that count: the undisturbed ones if there are at least three, else all
 * @disturbed: turns in which another task kept a thread from running
 */
struct live_summary {
	struct live_sample median;
	double low, high;
	u32 rounds, disturbed;
};

struct live_summary live_summary(const struct live_point *point);

#endif
