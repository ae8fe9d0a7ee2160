// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Makes plans and maps whose headers and tables are constant. The explorer reports each later store
 * to their cache lines. core/ makes no such store, because the words of shards and summaries are on
 * other cache lines.
 */
#include "objects.h"

#include <stdlib.h>

#define MAX_CPUS  32
#define MAX_LINES 8 /* number of shards whose lines have names */

static const char *const line_names[MAX_LINES] = { "line 0", "line 1", "line 2", "line 3",
						   "line 4", "line 5", "line 6", "line 7" };

const struct shard_plan *case_plan(u32 nr_cpus, u32 per_shard)
{
	struct shard_cpu cpu[MAX_CPUS];
	struct shard_topo topo = { nr_cpus, cpu };
	struct shard_plan *plan;

	for (u32 i = 0; i < nr_cpus; i++)
		cpu[i] = (struct shard_cpu){
			.llc = (s32)(i / per_shard), .l2 = (s32)i, .core = (s32)i, .possible = true
		};
	if (shard_plan_build(&plan, &topo, NULL))
		abort();
	explore_const(plan, plan->bytes);
	return plan;
}

struct sbm *case_sbm(const struct shard_plan *plan, unsigned int flags)
{
	struct sbm *b = sbm_alloc(plan, flags);

	if (!b)
		abort();
	explore_const(b, b->bytes);
	for (u32 i = 0; i < b->nr_shards; i++)
		explore_name(b->line[i], PORT_CACHELINE, line_names[i]);
	if (b->summary) {
		explore_const(b->summary, offsetof(struct shard_summary, word));
		explore_name(b->summary->word, sizeof(u64), "summary");
	}
	return b;
}
