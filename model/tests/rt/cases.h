/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* cases.h - the cases of rt_test.c, each on a fresh simulated toy (model/tests/sim/toy.h). */
#ifndef TESTS_RT_CASES_H
#define TESTS_RT_CASES_H

#include "rt.h"

/* Round figures, in picoseconds, so that times are easy to compute. */
extern const struct rt_costs toy_costs;

struct storm_result {
	u64 hash;   /* of all events */
	u64 checks; /* runs of the checker */
	u64 misplaced;
	struct rt_stats stats;
};

struct wind {
	u32 threads;
	u64 us;
	bool push_ipi;
	bool changes;	 /* threads change each other's level and affinity at random */
	bool partitions; /* two root domains, each with half of the CPUs */
};

/**
 * storm - threads of random levels compute, sleep, yield, wake each other, and, if RT, change their
 * own RT level, with the checker on.
 */
struct storm_result storm(const struct model *model, const struct rd_ops *ops,
			  const struct wind *wind);

void woken_high_preempts(const struct model *model, const struct rd_ops *ops, bool push_ipi);
void equal_waits(const struct model *model, const struct rd_ops *ops, bool push_ipi);
void affinity_is_kept(const struct model *model, const struct rd_ops *ops, bool push_ipi);
void push_goes_to_lowest(const struct model *model, const struct rd_ops *ops, bool push_ipi);
void fall_pulls(const struct model *model, const struct rd_ops *ops, bool push_ipi);
void overload_comes_and_goes(const struct model *model, const struct rd_ops *ops, bool push_ipi);
void raised_waiter_preempts(const struct model *model, const struct rd_ops *ops, bool push_ipi);

#endif
