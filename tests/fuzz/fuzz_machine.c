// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Machine files. What the loader accepts is complete: a plan can be made of it, and each
 * distance that occurs has a latency.
 */
#include <stdio.h>
#include <stdlib.h>
#include "fuzz.h"

static void check_machine(const struct machine *m)
{
	u32 possible = 0, first = UINT32_MAX;

	FUZZ_CHECK(fuzz_check_topo(&m->topo) == SHARD_PLAN_OK);
	FUZZ_CHECK(m->name[0] && m->title[0] && m->clock_ghz > 0);
	for (u32 nr = 0; nr < m->topo.nr_cpus; nr++) {
		const struct shard_cpu *cpu = &m->topo.cpu[nr];
		enum machine_distance distance;

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
		distance = machine_distance(m, first, nr);
		FUZZ_CHECK(distance == machine_distance(m, nr, first));
		FUZZ_CHECK(distance == MACHINE_SAME_CPU || machine_transfer_ns(m, distance) > 0);
	}
	FUZZ_CHECK(possible == m->nr_cpus);
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
