/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * groups.h - CPUs by NUMA node or by LLC, numbered from 0 in the order of their first CPU,
 * regardless of the machine's ids. Read-only after cpu_groups_init(), which may sleep.
 */
#ifndef LAYOUTS_GROUPS_H
#define LAYOUTS_GROUPS_H

#include "port.h"
#include "shard_topo.h"

enum groups_by { GROUPS_NODE, GROUPS_LLC };

/**
 * struct cpu_groups - the groups
 * @of: by CPU number; 0 for a hole
 * @node: by group: its NUMA node, for port_alloc()
 * @mask: by group: its CPUs, as a cpumask
 */
struct cpu_groups {
	u32 nr, nr_cpus, words;
	u32 *of;
	s32 *node;
	unsigned long **mask;
};

/**
 * cpu_groups_init - find the groups. Return: false if there is no memory; then nothing is
 * allocated.
 */
bool cpu_groups_init(struct cpu_groups *g, const struct shard_topo *topo, enum groups_by by);
void cpu_groups_free(struct cpu_groups *g);

#endif
