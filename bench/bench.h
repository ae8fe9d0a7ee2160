/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The parts of schedshard-bench and their interfaces.
 *
 *   plans.c         the machines of the structures, written down here
 *   kernels.c       the measured loops
 *   bouts.c         comparisons: variants, plans and fillings
 *   create.c        what it takes to make and free an object, and its memory
 *   verify.c        checks that all variants compute the same
 *   timing.c        nanoseconds and ratios; contend.c: the same with two threads
 *   instructions.c  instructions, counted by valgrind
 *   report.c        JSON
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "kernels.h"

#define BENCH_MAX_ENTRIES 8
#define BENCH_NO_DENSITY  ((const char *)NULL)

/**
 * struct bench_plan - a shard plan with a name
 * @name: as in the output
 * @plan: the plan
 * @pools: the plan with a line per core; NULL without a machine file
 */
struct bench_plan {
	const char *name;
	struct shard_plan *plan, *pools;
};

/* Use only a machine file's plan from now on. Return: 0, or 2 after a line on stderr. */
int bench_plans_of_machine(const char *path);

/* Build all plans. Return: the plans, or NULL after a line on stderr. */
const struct bench_plan *bench_plans_get(u32 *nr);
void bench_plans_put(void);

/**
 * struct bench_time - one entry's time
 * @ns: median nanoseconds per operation
 * @ratio: median over all rounds of (its time / the reference's time in the same round)
 * @low: 10th percentile of these ratios
 * @high: 90th percentile
 */
struct bench_time {
	double ns;
	double ratio;
	double low;
	double high;
};

/**
 * struct bench_entry - one variant in a comparison
 * @variant: its name
 * @object: the kernel's object
 * @kernel: the measured function
 * @destroy: frees @object
 * @timed: @time is valid
 * @time: result of timing.c or contend.c
 * @counted: @instructions is valid
 * @instructions: instructions per operation, averaged over one call of the kernel
 * @bytes: memory of an object; 0: not counted
 */
struct bench_entry {
	const char *variant;
	void *object;
	bench_kernel kernel;
	void (*destroy)(void *object);
	bool timed;
	struct bench_time time;
	bool counted;
	double instructions;
	double bytes;
};

/**
 * struct bench_bout - a comparison of variants that do the same on the same data; entry 0 is the
 * reference
 * @number: position in the order of bench_for_each_bout()
 * @group: which structure: loop, set, find, counter, contended
 * @op: which operation
 * @plan: name of the plan
 * @density: how full the set is, or BENCH_NO_DENSITY
 * @cpu: CPU numbers for the kernels
 * @n: number of CPU numbers
 * @ops: operations in one call of a kernel
 * @nr: number of entries
 * @entry: the variants
 */
struct bench_bout {
	u32 number;
	const char *group;
	const char *op;
	const char *plan;
	const char *density;
	const u32 *cpu;
	u32 n;
	u32 ops;
	u32 nr;
	struct bench_entry entry[BENCH_MAX_ENTRIES];
};

/**
 * bench_for_each_bout() - set up every bout in turn, and remove it again
 * @work: called with each bout; a negative result ends the loop
 * @context: for @work
 *
 * Return: 0, the result of @work, or -ENOMEM. The order never changes, so two processes can
 * identify a bout by its number.
 */
int bench_for_each_bout(int (*work)(struct bench_bout *bout, void *context), void *context);

/* The same for a machine file, with fewer bouts: make a set, set and clear, walk. */
int bench_for_each_machine_bout(int (*work)(struct bench_bout *bout, void *context), void *context);

/* Add entries that make and free each set and pool to a bout with one operation per call. */
bool bench_enter_makers(struct bench_bout *bout, const struct bench_plan *plan);

/* As bench_for_each_bout(), with two threads: see contend.c. Bout numbers start at 0 again. */
#define BENCH_CONTENDED_OPS 64
int bench_for_each_contended_bout(int (*work)(struct bench_bout *bout, void *context),
				  void *context);

/**
 * struct bench_effort - how long to measure
 * @rounds: turns of each entry of a bout
 * @turn_ns: length of a turn
 */
struct bench_effort {
	u32 rounds;
	double turn_ns;
};

/* A density of a set: its name, and whether CPU @i of @n is in the set. */
struct bench_density {
	const char *name;
	bool (*has)(u32 i, u32 n);
};
extern const struct bench_density bench_densities[];
extern const u32 bench_nr_densities;

/*
 * Check that all variants give the same answers. Return: 0, or -1 after a line on stderr that names
 * the wrong variant.
 */
int bench_verify(void);

int bench_time_bout(struct bench_bout *bout, const struct bench_effort *effort);

/* A turn of timing.c: make @calls calls. Return: their time. */
typedef double (*bench_turn)(const struct bench_bout *bout, const struct bench_entry *entry,
			     u64 calls);
int bench_time_turns(struct bench_bout *bout, const struct bench_effort *effort, bench_turn turn);

/**
 * struct bench_pair - two host CPUs to run threads on
 * @cpu: their numbers; -1 for the second one when this process may use only one
 */
struct bench_pair {
	int cpu[2];
};

struct bench_pair bench_pair_find(void);
int bench_contend_bout(struct bench_bout *bout, const struct bench_effort *effort);

/* instructions.c */
struct bench_counts;
/* Count all instructions. Return: NULL after a line on stderr: valgrind is missing or failed. */
struct bench_counts *bench_counts_get(void);
void bench_counts_free(struct bench_counts *counts);
void bench_counts_apply(const struct bench_counts *counts, struct bench_bout *bout);
/* The counted side: runs in the copy of this program under valgrind. */
int bench_counts_run(void);

/* report.c */
struct bench_report;
struct bench_report *bench_report_new(const struct bench_pair *pair);
int bench_report_add(struct bench_report *report, const struct bench_bout *bout);
int bench_report_print(struct bench_report *report);
void bench_report_free(struct bench_report *report);

#endif
