// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Allocation of byte maps. A position is below 64, and a cache line has at least 64 bytes. The
 * bytes of holes keep the initial value; searches mask them out.
 */
#include "bytemap.h"
#include "shard_lines.h"

struct bytemap *bytemap_alloc(const struct shard_plan *plan, u8 value)
{
	size_t bytes = sizeof(struct bytemap) + plan->nr_cpus * sizeof(u8 *) +
		       plan->nr_shards * sizeof(u64 *);
	struct bytemap *m = (struct bytemap *)port_alloc(bytes, -1);
	u64 **line;

	if (!m)
		return NULL;
	line = (u64 **)(m->byte + plan->nr_cpus);
	m->line = line;
	m->plan = plan;
	m->bytes = bytes;
	if (!shard_lines_alloc(plan, line)) {
		port_free(m, bytes);
		return NULL;
	}
	for (u32 shard = 0; shard < plan->nr_shards; shard++)
		memset(line[shard], value, SHARD_MAX_CAP);
	for (u32 cpu = 0; cpu < plan->nr_cpus; cpu++)
		if (plan->slot[cpu].possible)
			m->byte[cpu] = (u8 *)line[plan->slot[cpu].shard] + plan->slot[cpu].pos;
	return m;
}

void bytemap_free(struct bytemap *m)
{
	if (!m)
		return;
	shard_lines_free(m->plan, m->line);
	port_free(m, m->bytes);
}
