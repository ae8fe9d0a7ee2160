// SPDX-License-Identifier: GPL-2.0-only
/*
 * Make the plan of this machine; any firmware gives one (shard_plan_make.h). Where caches are
 * unknown, NUMA nodes serve, else one LLC for all. A CPU that is not present may have no node. It
 * gets that of a CPU that shares its cache, else of one in its package, else the first online one.
 */
#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/nodemask.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/topology.h>
#include <linux/schedshard/machine.h>
#include <linux/schedshard/shard_plan_make.h>

const struct shard_plan *schedshard_plan __ro_after_init;

void __init __weak schedshard_arch_topology(struct shard_rec *rec, u32 n) { }

void shard_rec_sort(struct shard_rec *rec, u32 n, int (*order)(const void *, const void *))
{
	sort(rec, n, sizeof(*rec), order, NULL);
}

static u32 __init start_records(struct shard_rec *rec)
{
	u32 n = 0, level;
	int cpu;

	for_each_possible_cpu(cpu) {
		for (level = 0; level < SHARD_AT_LEVELS; level++)
			rec[n].at[level] = -1;
		rec[n].at[SHARD_AT_NODE] = cpu_to_node(cpu);
		rec[n++].cpu = cpu;
	}
	return n;
}

static s32 __init node_of_neighbour(const struct shard_rec *rec, u32 n, const struct shard_rec *r)
{
	s32 node = NUMA_NO_NODE;
	u32 i;

	for (i = 0; i < n; i++) {
		if (rec[i].at[SHARD_AT_NODE] < 0 ||
		    rec[i].at[SHARD_AT_PACKAGE] != r->at[SHARD_AT_PACKAGE])
			continue;
		if (rec[i].at[SHARD_AT_LLC] == r->at[SHARD_AT_LLC])
			return rec[i].at[SHARD_AT_NODE];
		if (node < 0)
			node = rec[i].at[SHARD_AT_NODE];
	}
	return node < 0 ? first_online_node : node;
}

void __init schedshard_init(void)
{
	struct shard_rec *rec = kvcalloc(num_possible_cpus(), sizeof(*rec), GFP_KERNEL);
	struct shard_plan head = { .nr_cpus = nr_cpu_ids };
	u32 i;

	if (!rec)
		panic("schedshard: no memory for the shard plan\n");
	head.nr_possible = start_records(rec);
	schedshard_arch_topology(rec, head.nr_possible);
	for (i = 0; i < head.nr_possible; i++)
		if (rec[i].at[SHARD_AT_NODE] < 0)
			rec[i].at[SHARD_AT_NODE] =
				node_of_neighbour(rec, head.nr_possible, &rec[i]);
	shard_plan_cut(rec, head.nr_possible, SHARD_MAX_CAP);
	schedshard_plan = shard_plan_make(&head, rec);
	if (!schedshard_plan)
		panic("schedshard: no memory for the shard plan\n");
	kvfree(rec);
}
