// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs in the device tree. The last node of the chain of next-level-cache is a CPU's last-level
 * cache. /cpus/cpu-map has the sockets and cores
 * (Documentation/devicetree/bindings/cpu/cpu-topology.txt). Without it each CPU is a core.
 */
#include <linux/of.h>
#include "firmware.h"

/* Sockets, clusters within clusters, cores, threads. */
#define MAX_DEPTH 8

/* The current socket and core of a walk of cpu-map, and the number of cores so far. */
struct map_walk {
	struct shard_rec *rec;
	u32 n;
	s32 socket, core, cores;
};

static void __init place_caches(struct shard_rec *rec)
{
	struct device_node *np = of_get_cpu_node(rec->cpu, NULL), *next;
	u32 level;

	if (!np)
		return;
	/* The bound ends a chain that leads back to itself. */
	for (level = 0; level < MAX_DEPTH && (next = of_find_next_cache_node(np)); level++) {
		of_node_put(np);
		np = next;
		rec->at[SHARD_AT_LLC] = (s32)(np->phandle & S32_MAX);
	}
	of_node_put(np);
}

static void __init place_cpu(const struct map_walk *walk, u32 cpu)
{
	u32 i;

	for (i = 0; i < walk->n; i++) {
		if (walk->rec[i].cpu != cpu)
			continue;
		walk->rec[i].at[SHARD_AT_PACKAGE] = walk->socket;
		walk->rec[i].at[SHARD_AT_CORE] = walk->core;
		walk->rec[i].at[SHARD_AT_THREAD] = cpu;
	}
}

static void __init walk_map(struct map_walk *walk, const struct device_node *parent, u32 depth)
{
	struct device_node *child, *cpu;

	if (depth > MAX_DEPTH)
		return;
	for_each_child_of_node(parent, child) {
		if (of_node_name_prefix(child, "socket"))
			walk->socket++;
		else if (of_node_name_prefix(child, "core"))
			walk->core = walk->cores++;
		cpu = of_parse_phandle(child, "cpu", 0);
		if (cpu) {
			place_cpu(walk, (u32)of_cpu_node_to_id(cpu));
			of_node_put(cpu);
		} else {
			walk_map(walk, child, depth + 1);
		}
	}
}

void __init schedshard_from_devicetree(struct shard_rec *rec, u32 n)
{
	struct map_walk walk = { .rec = rec, .n = n, .socket = -1, .core = -1 };
	struct device_node *map = of_find_node_by_path("/cpus/cpu-map");
	u32 i;

	for (i = 0; i < n; i++)
		place_caches(&rec[i]);
	if (!map)
		return;
	walk_map(&walk, map, 0);
	of_node_put(map);
}
