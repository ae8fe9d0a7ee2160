// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"

void fuzz_check_refusal(int ret, const struct shard_err *err)
{
	size_t len = strnlen(err->text, sizeof(err->text));

	FUZZ_CHECK(ret < 0 && ret > -4096);
	FUZZ_CHECK(len > 0 && len < sizeof(err->text));
	for (size_t i = 0; i < len; i++)
		FUZZ_CHECK((unsigned char)err->text[i] >= ' ' && err->text[i] != 0x7f);
}

static void check_ids(const struct shard_topo *topo)
{
	u32 possible = 0;

	FUZZ_CHECK(topo->nr_cpus >= 1 && topo->nr_cpus <= 8192);
	for (u32 nr = 0; nr < topo->nr_cpus; nr++) {
		const struct shard_cpu *cpu = &topo->cpu[nr];

		if (!cpu->possible)
			continue;
		possible++;
		FUZZ_CHECK(cpu->package >= -1 && cpu->node >= -1);
		/* at most one LLC per CPU, and as many made-up ones */
		FUZZ_CHECK(cpu->llc >= -1 && cpu->llc < 2 * 8192);
		FUZZ_CHECK(cpu->l2 >= -1 && cpu->l2 < 8192);
		FUZZ_CHECK(cpu->core >= -1 && cpu->core < 8192);
		FUZZ_CHECK(cpu->thread >= -1 && cpu->thread < 8192);
	}
	FUZZ_CHECK(possible > 0);
}

enum shard_plan_err fuzz_check_topo(const struct shard_topo *topo)
{
	struct shard_plan *plan;
	enum shard_plan_err ret;

	check_ids(topo);
	ret = shard_plan_build(&plan, topo, NULL);
	if (ret)
		return ret;
	for (u32 nr = 0; nr < topo->nr_cpus; nr++) {
		const struct shard_slot *slot = &plan->slot[nr];

		FUZZ_CHECK(slot->possible == topo->cpu[nr].possible);
		if (!slot->possible)
			continue;
		FUZZ_CHECK(plan->idx_to_cpu[slot->idx] == nr);
		FUZZ_CHECK(plan->shard[slot->shard].package == topo->cpu[nr].package);
	}
	shard_plan_free(plan);
	return SHARD_PLAN_OK;
}
