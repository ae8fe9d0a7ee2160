// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Machine files. A file that the loader accepts is complete: it has a plan, and each distance that
 * occurs has a latency.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"

/* A tier's group has one parent. If two tiers group the same unit, the later contains the other. */
static void check_tiers(const struct machine *m, const struct shard_cpu *a,
			const struct shard_cpu *b)
{
	for (u32 i = 0; i < m->nr_tiers; i++) {
		const struct machine_tier *tier = &m->tier[i];
		bool same = machine_tier_group(m, i, a) == machine_tier_group(m, i, b);

		FUZZ_CHECK(tier->count >= 2 && tier->ns > 0 && tier->name[0]);
		if (same && tier->unit == MACHINE_UNIT_CORES)
			FUZZ_CHECK(a->llc == b->llc);
		if (same && tier->unit != MACHINE_UNIT_PACKAGES)
			FUZZ_CHECK(a->package == b->package);
		if (i + 1 < m->nr_tiers && tier[1].unit == tier->unit) {
			FUZZ_CHECK(tier[1].count > tier->count);
			FUZZ_CHECK(!same || machine_tier_group(m, i + 1, a) ==
						    machine_tier_group(m, i + 1, b));
		}
	}
}

static void check_machine(const struct machine *m)
{
	u32 possible = 0, first = UINT32_MAX;

	FUZZ_CHECK(fuzz_check_topo(&m->topo) == SHARD_PLAN_OK);
	FUZZ_CHECK(m->name[0] && m->title[0] && m->clock_ghz > 0);
	for (u32 nr = 0; nr < m->topo.nr_cpus; nr++) {
		const struct shard_cpu *cpu = &m->topo.cpu[nr];

		if (!cpu->possible)
			continue;
		possible++;
		FUZZ_CHECK(cpu->package >= 0 && (u32)cpu->package < m->nr_packages);
		FUZZ_CHECK(cpu->node >= 0 && (u32)cpu->node < m->nr_nodes);
		FUZZ_CHECK(cpu->llc >= 0 && (u32)cpu->llc < m->nr_llcs);
		FUZZ_CHECK(cpu->core >= 0 && (u32)cpu->core < m->nr_cores);
		FUZZ_CHECK(cpu->thread >= 0 && (u32)cpu->thread < m->max_threads);
		if (first == UINT32_MAX)
			first = nr;
		FUZZ_CHECK(machine_distance(m, first, nr) == machine_distance(m, nr, first));
		FUZZ_CHECK(first == nr || machine_pair_ns(m, first, nr) > 0);
		FUZZ_CHECK(machine_pair_ns(m, first, nr) == machine_pair_ns(m, nr, first));
		check_tiers(m, &m->topo.cpu[first], cpu);
	}
	FUZZ_CHECK(possible == m->nr_cpus);
	for (u32 i = 0; i < m->nr_ranges; i++) {
		FUZZ_CHECK(m->range[i].low <= m->range[i].high);
		FUZZ_CHECK(!i || strcmp(m->range[i - 1].key, m->range[i].key) < 0);
	}
	for (u32 i = 0; i < m->nr_protocol; i++)
		FUZZ_CHECK(machine_protocol(m, m->protocol[i].key, -1) == m->protocol[i].value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct machine *machine = NULL;
	struct shard_err err = { "" };
	int ret = machine_parse(&machine, (const char *)data, size, "input", &err);

	if (ret)
		fuzz_check_refusal(ret, &err);
	else
		check_machine(machine);
	machine_free(machine);
	return 0;
}
