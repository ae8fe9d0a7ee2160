// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A group's number is that of its node or LLC; groups without a CPU have no lines. A CPU's byte is
 * at the CPU's position in its group, in the order of CPU numbers. So only one CPU writes each
 * byte, and a plain store is enough.
 */
#include "group_mask.h"

static u32 group_of(const struct shard_cpu *cpu, enum group_by by)
{
	switch (by) {
	case GROUP_NODE:
		return (u32)cpu->node;
	case GROUP_LLC:
		return (u32)cpu->llc;
	case GROUP_ALL:
		break;
	}
	return 0;
}

static u32 count_groups(const struct shard_topo *topo, enum group_by by)
{
	u32 n = 0;

	for (u32 c = 0; c < topo->nr_cpus; c++)
		if (topo->cpu[c].possible && group_of(&topo->cpu[c], by) >= n)
			n = group_of(&topo->cpu[c], by) + 1;
	return n;
}

/* Allocate lines for the group of which @cpu is the first CPU. */
static bool add_group(struct group_mask *m, const struct shard_topo *topo, enum group_by by,
		      u32 cpu)
{
	u32 g = group_of(&topo->cpu[cpu], by), members = 0;
	size_t bytes;

	for (u32 c = 0; c < topo->nr_cpus; c++)
		members += topo->cpu[c].possible && group_of(&topo->cpu[c], by) == g;
	m->words[g] = m->bytes ? (members + 7) / 8 : (topo->nr_cpus + 63) / 64;
	bytes = m->words[g] * sizeof(u64);
	m->mask[g] = port_alloc(bytes, topo->cpu[cpu].node);
	m->size += (bytes + PORT_CACHELINE - 1) / PORT_CACHELINE * PORT_CACHELINE;
	return m->mask[g];
}

struct group_mask *group_mask_alloc(const struct shard_topo *topo, enum group_by by, bool bytes)
{
	struct group_mask *m = port_alloc(sizeof(*m), -1);
	u32 n = count_groups(topo, by);
	u32 *used = port_alloc(n * sizeof(*used), -1);

	if (!m || !used)
		return NULL;
	m->bytes = bytes;
	m->nr_groups = n;
	m->slot = port_alloc(topo->nr_cpus * sizeof(*m->slot), -1);
	m->mask = port_alloc(n * sizeof(*m->mask), -1);
	m->words = port_alloc(n * sizeof(*m->words), -1);
	if (!m->slot || !m->mask || !m->words)
		return NULL;
	for (u32 c = 0; c < topo->nr_cpus; c++) {
		u32 g = group_of(&topo->cpu[c], by);

		if (!topo->cpu[c].possible)
			continue;
		if (!m->mask[g] && !add_group(m, topo, by, c))
			return NULL;
		m->slot[c].word = &m->mask[g][bytes ? used[g] / 8 : c / 64];
		m->slot[c].bit = 1ull << (c % 64);
		m->slot[c].byte = (u8 *)m->mask[g] + used[g];
		used[g]++;
	}
	port_free(used, n * sizeof(*used));
	return m;
}

u32 group_mask_weight(const struct group_mask *m)
{
	u32 n = 0;

	for (u32 g = 0; g < m->nr_groups; g++)
		for (u32 w = 0; w < m->words[g]; w++)
			n += port_popcount64(READ_ONCE(m->mask[g][w]));
	return n;
}
