/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A user's program, in the common subset of C and C++: it uses every public header, and both inline
 * functions and functions of the library. install.py compiles it as each of them.
 */
#include <stdio.h>
#include <schedshard/schedshard.h>

static int first_use(void)
{
	struct sbm *set = sbm_create();
	struct bytemap *map = bytemap_create(9);
	struct shard_counter *counter = shard_counter_create();
	u32 cpu;

	if (!set || !map || !counter)
		return 1;
	cpu = shard_this_cpu();
	sbm_set(set, cpu);
	bytemap_set(map, cpu, 1);
	sbm_for_each_cpu(cpu, it, set)
		shard_counter_add(counter, cpu, bytemap_get(map, cpu));
	if (shard_counter_sum(counter) != 1)
		return 1;
	shard_counter_destroy(counter);
	bytemap_destroy(map);
	sbm_destroy(set);
	return 0;
}

static int structures_of(const struct shard_plan *plan)
{
	struct shard_counter counter = SHARD_COUNTER_INIT;
	struct sbm *set = sbm_alloc(plan, SBM_SUMMARY);
	struct bytemap *map = bytemap_alloc(plan, 3);
	u32 cpu, seen = 0;

	if (!set || !map || !shard_counter_attach(&counter, plan))
		return 1;
	for (u32 idx = 0; idx < plan->nr_possible; idx++)
		sbm_set(set, plan->idx_to_cpu[idx]);
	sbm_for_each_cpu(cpu, it, set) {
		shard_counter_inc(&counter, cpu);
		bytemap_set(map, cpu, 5);
	}
	sbm_for_each_cpu_wrap(cpu, it, set, plan->idx_to_cpu[0]) {
		if (bytemap_get(map, cpu) == 5)
			seen++;
	}
	if (seen != plan->nr_possible || shard_counter_sum(&counter) != (s64)seen ||
	    sbm_weight(set) != seen)
		return 1;
	printf("%u CPUs\n", seen);
	shard_counter_detach(&counter);
	bytemap_free(map);
	sbm_free(set);
	return 0;
}

static int scheduler_state_of(const struct shard_plan *plan)
{
	struct overload *overload = overload_alloc(plan);
	struct cpupri pri;

	if (!overload || !cpupri_init(&pri, plan))
		return 1;
	overload_set(overload, plan->idx_to_cpu[0], false);
	if (!overload_test(overload, plan->idx_to_cpu[0]))
		return 1;
	overload_free(overload);
	cpupri_cleanup(&pri);
	return 0;
}

int main(void)
{
	struct shard_topo *topo = NULL;
	struct shard_plan *plan = NULL;
	struct shard_err err = { "" };
	struct machine *machine = NULL;

	if (first_use())
		return 1;
	if (machine_load(&machine, "/nonexistent", &err) == 0 || !err.text[0])
		return 1;
	if (shard_topo_from_sysfs(&topo, "/", &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	if (shard_plan_build(&plan, topo, NULL))
		return 1;
	if (structures_of(plan) || scheduler_state_of(plan))
		return 1;
	shard_plan_free(plan);
	shard_topo_free(topo);
	return 0;
}
