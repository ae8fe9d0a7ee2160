/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A user's program, in the common subset of C and C++: it uses every public header, and both inline
 * functions and functions of the library. install.py compiles it as each of them.
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
	struct sbm *set, *here = sbm_create();
	struct bytemap *map_here = bytemap_create(9);
	struct shard_counter *counted = shard_counter_create();
	u32 cpu, seen = 0;

	/* first use */
	if (!here || !map_here || !counted)
		return 1;
	cpu = shard_this_cpu();
	sbm_set(here, cpu);
	bytemap_set(map_here, cpu, 1);
	sbm_for_each_cpu(cpu, it, here)
		shard_counter_add(counted, cpu, bytemap_get(map_here, cpu));
	if (shard_counter_sum(counted) != 1)
		return 1;
	shard_counter_destroy(counted);
	bytemap_destroy(map_here);
	sbm_destroy(here);

	/* the parts behind it */
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
