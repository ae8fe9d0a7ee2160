// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * One CPU stores to a word that all others read all the time. The experiment reports when a reader
 * begins its last read that finds the old value, and when the reader gets the new one. Both are in
 * nanoseconds after the store begins, the median over all readers and rounds.
 *
 * Every reader reads the time-stamp counter before and after each read, as the published program
 * does. On x86 a read of the counter does not wait for the preceding load. So the second time stamp
 * is one read of the counter later than the first, whenever the load ends (*stamp*).
 */
#include <stdlib.h>

#include "arena.h"
#include "experiment.h"
#include "port.h"

struct seen {
	u64 old_begins; /* begin of the last read of the old value */
	u64 new_begins, new_ends;
};

struct store_seen {
	u64 *word;
	u64 pause, timestamp;
	u32 rounds, readers, round;
	u64 *stored;	   /* by round: when the store began */
	struct seen *seen; /* [round * readers + reader] */
	bool over;
};

/* The type of the line, for reports. */
struct store_seen_line {
	u64 word;
	u8 unused[PORT_CACHELINE - sizeof(u64)];
};

static void writer(struct store_seen *x)
{
	for (u32 i = 0; i < x->rounds; i++) {
		sim_spend(x->pause);
		sim_spend(x->timestamp);
		x->stored[i] = sim_now();
		WRITE_ONCE(*x->word, i + 1);
	}
	sim_compute(x->pause);
	x->over = true;
}

static void reader(struct store_seen *x, u32 number)
{
	u64 last = 0, begins_of_last = 0;

	while (!x->over) {
		u64 begins, value;

		sim_spend(x->timestamp);
		begins = sim_now();
		value = READ_ONCE(*x->word);
		if (value != last) {
			x->seen[(value - 1) * x->readers + number] =
				(struct seen){ begins_of_last, begins, sim_now() };
			last = value;
		}
		begins_of_last = begins;
		sim_spend(x->timestamp);
	}
}

static void body(u32 cpu, void *arg)
{
	if (cpu)
		reader(arg, cpu - 1);
	else
		writer(arg);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(struct run *run, const struct store_seen *x)
{
	static const char *const name[] = { "last_old_ns", "first_new_begins_ns",
					    "first_new_stamp_ns", "first_new_ns" };
	double *ns = calloc((size_t)x->rounds * x->readers, sizeof(*ns));

	if (!ns)
		abort();
	for (int what = 0; what < 4; what++) {
		u32 n = 0;

		for (u32 i = 0; i < x->rounds * x->readers; i++) {
			const struct seen *s = &x->seen[i];
			u64 stored = x->stored[i / x->readers];
			u64 at = what == 0   ? s->old_begins
				 : what == 1 ? s->new_begins
				 : what == 2 ? s->new_begins + x->timestamp
					     : s->new_ends;

			/*
			 * A reader may have missed a value: then it has no last read of the old
			 * one.
			 */
			if (s->old_begins)
				ns[n++] = ((double)at - (double)stored) / 1000;
		}
		qsort(ns, n, sizeof(*ns), by_value);
		run_report(run, name[what], n ? ns[n / 2] : 0);
	}
	free(ns);
}

static int execute(struct run *run)
{
	const struct model *model = run->model;
	struct store_seen x = { .pause = (u64)(run_param(run, "pause_ns") * 1000),
				.timestamp = model->timestamp,
				.rounds = (u32)run_param(run, "rounds"),
				.readers = model->nr_cpus - 1 };

	if (model->nr_cpus < 2 || !x.rounds)
		return run_fail(run,
				"one stores and others read: give 2 CPUs and 1 round at least");
	x.stored = calloc(x.rounds, sizeof(*x.stored));
	x.seen = calloc((size_t)x.rounds * x.readers, sizeof(*x.seen));
	if (!x.stored || !x.seen)
		abort();
	x.word = arena_alloc(sizeof(struct store_seen_line), 0, "word", "struct store_seen_line");
	for (u32 i = 0; i < model->nr_cpus; i++)
		sim_spawn(i, body, &x, i);
	run->simulated = sim_run();
	report(run, &x);
	free(x.stored);
	free(x.seen);
	return 0;
}

static const char *const variants[] = { "store", NULL };
static const char *const params[] = { "pause_ns", "rounds", NULL };

extern const struct experiment store_seen;
const struct experiment store_seen = {
	.name = "store-seen",
	.variants = variants,
	.params = params,
	.execute = execute,
};
