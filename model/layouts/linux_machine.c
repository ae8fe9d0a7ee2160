// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Describes the machine to core/sched/. The file is separate, because arch_cpu_place() overrides a
 * weak function.
 */
#include "groups.h"
#include "linux_sched.h"

const struct shard_topo *linux_machine;
bool linux_flat;
int linux_node = -1;
const struct cpumask linux_no_cpu;

static struct cpu_groups caches;

bool linux_machine_set(const struct shard_topo *topo, bool flat)
{
	linux_machine = topo;
	linux_flat = flat;
	return cpu_groups_init(&caches, topo, GROUPS_LLC);
}

void linux_machine_free(void)
{
	cpu_groups_free(&caches);
}

/* A cache's domain consists only of its span, so a mask serves as domain. */
struct sched_domain *linux_sd_llc(int cpu)
{
	return cpu < 0 ? NULL : (struct sched_domain *)caches.mask[caches.of[cpu]];
}

/* What the firmware reports: the last-level cache; then cores, with siblings side by side. */
void arch_cpu_place(struct cpu_place *place)
{
	const struct shard_cpu *cpu = &linux_machine->cpu[place->cpu];

	if (linux_flat || cpu->llc < 0 || cpu->core < 0)
		return;
	place->cache = (u32)cpu->llc;
	place->core = (u32)cpu->core;
}
