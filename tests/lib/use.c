/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A stranger's program, in the common subset of C and C++: touches every public header, and
 * both inline functions and such of the library. install.py compiles it as each of them.
 */
#include <stdio.h>
#include <schedshard/schedshard.h>

int main(void)
{
	struct shard_topo *topo = NULL;
	struct shard_plan *plan = NULL;
	struct shard_err err = { "" };
	struct machine *machine = NULL;
	struct shard_counter counter = SHARD_COUNTER_INIT;
	struct bytemap *map;
	struct overload *overload;
	struct cpupri pri;
	struct sbm *set;
	u32 cpu, seen = 0;

	if (machine_load(&machine, "/nonexistent", &err) == 0 || !err.text[0])
		return 1;
	if (shard_topo_from_sysfs(&topo, "/", &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	if (shard_plan_build(&plan, topo, NULL))
		return 1;
	set = sbm_alloc(plan, SBM_SUMMARY);
	map = bytemap_alloc(plan, 3);
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
	overload = overload_alloc(plan);
	if (!overload || !cpupri_init(&pri, plan))
		return 1;
	overload_set(overload, plan->idx_to_cpu[0], false);
	if (!overload_test(overload, plan->idx_to_cpu[0]))
		return 1;
	overload_free(overload);
	cpupri_cleanup(&pri);
	printf("%u CPUs\n", seen);
	shard_counter_detach(&counter);
	bytemap_free(map);
	sbm_free(set);
	shard_plan_free(plan);
	shard_topo_free(topo);
	return 0;
}
