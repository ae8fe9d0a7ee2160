// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The machine as core/sched/ sees it. A file of its own: arch_cpu_place() replaces a weak one. */
#include "linux_sched.h"

const struct shard_topo *linux_machine;
bool linux_flat;
int linux_node = -1;

/* What firmware says: the last-level cache; then cores, siblings side by side. */
void arch_cpu_place(struct cpu_place *place)
{
	const struct shard_cpu *cpu = &linux_machine->cpu[place->cpu];

	if (linux_flat || cpu->llc < 0 || cpu->core < 0)
		return;
	place->cache = (u32)cpu->llc;
	place->id = (u32)cpu->core;
}
