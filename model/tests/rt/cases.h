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

/* The plays with a known end, each with pulls and with a push walk. */
void semantics(const struct rd_ops *ops);

#endif
