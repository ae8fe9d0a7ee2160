// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* From a topology to a shard plan, and its tables: CPU <-> (shard, position) <-> index. */
#include "example.h"

int main(int argc, char **argv)
{
	struct shard_err err = { "" };
	struct shard_topo *topo;
	struct shard_plan *plan;
	enum shard_plan_err ret;
	u32 cpu;

	/* this machine's caches, or those of a machine file */
	if (argc > 1 ? shard_topo_from_machine(&topo, argv[1], &err)
		     : shard_topo_from_sysfs(&topo, "/", &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	ret = shard_plan_build(&plan, topo, NULL);
	if (ret) {
		fprintf(stderr, "no plan: %s\n", shard_plan_strerror(ret));
		return 1;
	}
	shard_topo_free(topo);

	printf("%u CPUs in %u shards of %u LLCs\n", plan->nr_possible, plan->nr_shards,
	       plan->nr_llcs);

	/* the place of a CPU */
	cpu = plan->nr_cpus - 1;
	printf("CPU %u: shard %u, position %u, index %u\n", cpu, plan->slot[cpu].shard,
	       plan->slot[cpu].pos, plan->slot[cpu].idx);

	/* and back */
	printf("index %u: CPU %u\n", plan->slot[cpu].idx, plan->idx_to_cpu[plan->slot[cpu].idx]);

	/* the CPUs of a shard, in the order of their positions */
	printf("shard 0:");
	for (u32 pos = 0; pos < plan->shard[0].nr_cpus; pos++)
		printf(" %u", plan->idx_to_cpu[plan->shard[0].first_idx + pos]);
	printf("\n");

	shard_plan_free(plan);
	return 0;
}
