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

void idle_cpus_enter_the_set(const struct model *model, const struct idle_ops *ops);
void busy_cpus_leave_it(const struct model *model, const struct idle_ops *ops);
void tasks_share_a_cpu(const struct model *model, const struct idle_ops *ops);
void new_tasks_spread(const struct model *model, const struct idle_ops *ops);
void messages_arrive(const struct model *model, const struct idle_ops *ops);
void balancer_empties_an_overloaded_cache(const struct model *model, const struct idle_ops *ops);
void who_runs_out_of_tasks_takes_one(const struct model *model, const struct idle_ops *ops);
void who_still_runs_is_not_taken(const struct model *model, const struct idle_ops *ops);

/* Make layouts with one bug each, based on stock. */
#define PLANTED 8
void plant(struct idle_ops faulty[PLANTED]);

#endif
