// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Makes smaller shards than the caches require, by a cap or by cutting LLCs. */
#include "example.h"

static void print_plan(const struct schedshard_topo *topo, uint32_t cap, uint32_t split_llc)
{
	struct schedshard_plan_opts opts = { .cap = cap, .split_llc = split_llc };
	struct schedshard_plan *plan = NULL;
	enum schedshard_plan_err ret = schedshard_plan_build(&plan, topo, &opts);

	if (ret)
		printf("cap %u, split %u: %s\n", cap, split_llc, schedshard_plan_strerror(ret));
	else
		printf("cap %u, split %u: %u shards, the first of %u CPUs\n", cap, split_llc,
		       plan->nr_shards, plan->shard[0].nr_cpus);
	schedshard_plan_free(plan);
}

int main(int argc, char **argv)
{
	struct schedshard_topo *topo = example_topo(argc, argv);

	/* the default: as many CPUs per shard as share a cache, at most 64 */
	print_plan(topo, 0, 0);
	/* fewer writers per line */
	print_plan(topo, 8, 0);
	/* each LLC counts as two: for tests, a small machine gets a large machine's plan */
	print_plan(topo, 0, 2);
	/* refused, because a shard's word has 64 bits */
	print_plan(topo, 65, 0);
	if (argc == 1)
		schedshard_topo_free(topo);
	return 0;
}
