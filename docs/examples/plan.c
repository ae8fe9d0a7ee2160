// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Makes a shard plan from a topology, and reads its tables: CPU <-> (shard, position) <-> index. */
#include "example.h"

int main(int argc, char **argv)
{
	struct schedshard_topo *topo = example_topo(argc, argv);
	struct schedshard_plan *plan;
	enum schedshard_plan_err ret;
	uint32_t cpu;

	ret = schedshard_plan_build(&plan, topo, NULL);
	if (ret) {
		fprintf(stderr, "no plan: %s\n", schedshard_plan_strerror(ret));
		return 1;
	}
	if (argc == 1)
		schedshard_topo_free(topo);

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
	for (uint32_t pos = 0; pos < plan->shard[0].nr_cpus; pos++)
		printf(" %u", plan->idx_to_cpu[plan->shard[0].first_idx + pos]);
	printf("\n");

	schedshard_plan_free(plan);
	return 0;
}
