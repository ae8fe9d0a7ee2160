/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* cases.h - the cases of fair_test.c, each on a fresh simulated toy (model/tests/sim/toy.h). */
#ifndef TESTS_FAIR_CASES_H
#define TESTS_FAIR_CASES_H

#include "fair/fair.h"

/* Round figures, in picoseconds, so that times are easy to compute. */
extern const struct fair_costs toy_costs;

struct storm_result {
	u64 hash;   /* of all events */
	u64 checks; /* runs of the checker */
	struct fair_stats stats;
};

/**
 * storm - threads compute, sleep, and pass messages at random, with the checker on. Sometimes many
 * threads are busy, sometimes few.
 */
struct storm_result storm(const struct model *model, const struct idle_ops *ops, u32 threads,
			  u64 us);

/* The plays with a known end. */
void plays(const struct idle_ops *ops);
void who_still_runs_is_not_taken(const struct idle_ops *ops);

/* Make layouts with one bug each, based on stock. */
#define PLANTED 8
void plant(struct idle_ops faulty[PLANTED]);

#endif
