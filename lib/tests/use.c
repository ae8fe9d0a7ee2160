/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A user's program, in the common subset of C and C++: it uses every public header, inline
 * functions and functions of the library. install.py compiles it as C and as C++.
 */
#include <stdio.h>
#include <schedshard/schedshard.h>

static int first_use(void)
{
	struct schedshard_sbm *set = schedshard_sbm_create();
	struct schedshard_counter *counter = schedshard_counter_create();
	uint32_t cpu;

	if (!set || !counter)
		return 1;
	cpu = schedshard_this_cpu();
	schedshard_sbm_set(set, cpu);
	schedshard_sbm_for_each_cpu(cpu, it, set)
		schedshard_counter_add(counter, cpu, 1);
	if (schedshard_counter_sum(counter) != 1)
		return 1;
	schedshard_counter_destroy(counter);
	schedshard_sbm_destroy(set);
	return 0;
}

static int structures_of(const struct schedshard_plan *plan)
{
	struct schedshard_counter counter = SCHEDSHARD_COUNTER_INIT;
	struct schedshard_sbm *set = schedshard_sbm_alloc(plan, SCHEDSHARD_SBM_SUMMARY);
	uint32_t cpu, seen = 0;

	if (!set || !schedshard_counter_attach(&counter, plan))
		return 1;
	for (uint32_t idx = 0; idx < plan->nr_possible; idx++)
		schedshard_sbm_set(set, plan->idx_to_cpu[idx]);
	schedshard_sbm_for_each_cpu(cpu, it, set)
		schedshard_counter_inc(&counter, cpu);
	schedshard_sbm_for_each_cpu_wrap(cpu, it, set, plan->idx_to_cpu[0])
		seen++;
	if (seen != plan->nr_possible || schedshard_counter_sum(&counter) != (int64_t)seen ||
	    schedshard_sbm_weight(set) != seen)
		return 1;
	printf("%u CPUs\n", seen);
	schedshard_counter_detach(&counter);
	schedshard_sbm_destroy(set);
	return 0;
}

int main(void)
{
	struct schedshard_topo *topo = NULL;
	struct schedshard_plan *plan = NULL;
	struct schedshard_err err = { "" };

	if (first_use())
		return 1;
	if (schedshard_topo_from_sysfs(&topo, "/", &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	if (schedshard_plan_build(&plan, topo, NULL))
		return 1;
	if (structures_of(plan))
		return 1;
	schedshard_plan_free(plan);
	schedshard_topo_free(topo);
	return 0;
}
