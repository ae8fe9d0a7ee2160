// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * cpu_groups_init() numbers the groups. For each CPU it looks for an earlier CPU with the same id.
 * The search is quadratic, but happens once per root domain. All CPUs of unknown id are one group.
 */
#include "groups.h"

static s32 id_of(const struct shard_cpu *cpu, enum groups_by by)
{
	return by == GROUPS_NODE ? cpu->node : cpu->llc;
}

/* Fill @of. Return: the number of groups. */
static u32 number_groups(u32 *of, const struct shard_topo *topo, enum groups_by by)
{
	u32 n = 0;

	for (u32 cpu = 0; cpu < topo->nr_cpus; cpu++) {
		u32 c = 0;

		if (!topo->cpu[cpu].possible)
			continue;
		while (c < cpu && (!topo->cpu[c].possible ||
				   id_of(&topo->cpu[c], by) != id_of(&topo->cpu[cpu], by)))
			c++;
		of[cpu] = c < cpu ? of[c] : n++;
	}
	return n;
}

bool cpu_groups_init(struct cpu_groups *g, const struct shard_topo *topo, enum groups_by by)
{
	memset(g, 0, sizeof(*g));
	g->nr_cpus = topo->nr_cpus;
	g->words = (topo->nr_cpus + 63) / 64;
	g->of = port_alloc(topo->nr_cpus * sizeof(*g->of), -1);
	if (!g->of)
		return false;
	g->nr = number_groups(g->of, topo, by);
	g->node = port_alloc(g->nr * sizeof(*g->node), -1);
	g->mask = port_alloc(g->nr * sizeof(*g->mask), -1);
	if (!g->node || !g->mask)
		goto fail;
	for (u32 i = 0; i < g->nr; i++) {
		g->mask[i] = port_alloc(g->words * sizeof(unsigned long), -1);
		if (!g->mask[i])
			goto fail;
	}
	for (u32 cpu = topo->nr_cpus; cpu-- > 0;)
		if (topo->cpu[cpu].possible) {
			g->node[g->of[cpu]] = topo->cpu[cpu].node;
			g->mask[g->of[cpu]][cpu / 64] |= 1ul << cpu % 64;
		}
	return true;
fail:
	cpu_groups_free(g);
	return false;
}

void cpu_groups_free(struct cpu_groups *g)
{
	for (u32 i = 0; g->mask && i < g->nr; i++)
		port_free(g->mask[i], g->words * sizeof(unsigned long));
	port_free(g->mask, g->nr * sizeof(*g->mask));
	port_free(g->node, g->nr * sizeof(*g->node));
	port_free(g->of, g->nr_cpus * sizeof(*g->of));
	memset(g, 0, sizeof(*g));
}
