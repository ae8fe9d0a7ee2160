// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Completes topologies whose records leave some levels unknown.
 *
 * Why shard_plan_build() accepts each topology of fill(): an invented LLC contains CPUs of one
 * package and node only. An invented package belongs to a node of which no CPU knows the package,
 * and an invented node to a package of which no CPU knows the node. All other values come from one
 * other CPU, so their pair of package and node exists already.
 */
#include <stdlib.h>
#include <string.h>
#include "topo_build.h"
#include "topology.h"

struct topo_memory {
	struct shard_topo topo;
	struct shard_cpu cpu[];
};

struct shard_topo *shard_topo_alloc(u32 nr_cpus, struct shard_cpu **cpu)
{
	struct topo_memory *mem = malloc(sizeof(*mem) + nr_cpus * sizeof(mem->cpu[0]));

	if (!mem)
		return NULL;
	for (u32 i = 0; i < nr_cpus; i++)
		mem->cpu[i] = (struct shard_cpu){ -1, -1, -1, -1, -1, -1, false };
	mem->topo.nr_cpus = nr_cpus;
	mem->topo.cpu = mem->cpu;
	*cpu = mem->cpu;
	return &mem->topo;
}

void shard_topo_free(struct shard_topo *topo)
{
	/* the topology is the first member of its memory */
	free(topo);
}

/* The first possible CPU with known package and node that match the given ones (-1: any). */
static const struct shard_cpu *find_placed(const struct shard_cpu *cpu, u32 nr_cpus, s32 package,
					   s32 node)
{
	for (u32 i = 0; i < nr_cpus; i++) {
		if (cpu[i].possible && cpu[i].package >= 0 && cpu[i].node >= 0 &&
		    (package < 0 || cpu[i].package == package) && (node < 0 || cpu[i].node == node))
			return &cpu[i];
	}
	return NULL;
}

static s32 max_id(const struct shard_cpu *cpu, u32 nr_cpus, size_t member)
{
	s32 max = -1;

	for (u32 i = 0; i < nr_cpus; i++) {
		s32 id = *(const s32 *)((const char *)&cpu[i] + member);

		if (cpu[i].possible && id > max)
			max = id;
	}
	return max;
}

static void set_all(struct shard_cpu *cpu, u32 nr_cpus, size_t member, s32 id)
{
	for (u32 i = 0; i < nr_cpus; i++)
		*(s32 *)((char *)&cpu[i] + member) = id;
}

static void fill_place(struct shard_cpu *cpu, u32 nr_cpus)
{
	s32 packages = max_id(cpu, nr_cpus, offsetof(struct shard_cpu, package));
	s32 nodes = max_id(cpu, nr_cpus, offsetof(struct shard_cpu, node));

	for (u32 i = 0; i < nr_cpus; i++) {
		struct shard_cpu *at = &cpu[i];
		const struct shard_cpu *like;

		if (!at->possible || (at->package >= 0 && at->node >= 0))
			continue;
		like = find_placed(cpu, nr_cpus, at->package, at->node);
		if (at->package < 0)
			at->package = like ? like->package : ++packages;
		if (at->node < 0)
			at->node = like ? like->node : ++nodes;
	}
}

static void fill_llc(struct shard_cpu *cpu, u32 nr_cpus)
{
	s32 known = max_id(cpu, nr_cpus, offsetof(struct shard_cpu, llc));
	s32 made_up = known;

	if (known < 0)
		return;
	for (u32 i = 0; i < nr_cpus; i++) {
		struct shard_cpu *at = &cpu[i];

		if (!at->possible || at->llc >= 0)
			continue;
		for (u32 j = 0; j < i && at->llc < 0; j++) {
			if (cpu[j].llc > known && cpu[j].package == at->package &&
			    cpu[j].node == at->node)
				at->llc = cpu[j].llc;
		}
		if (at->llc < 0)
			at->llc = ++made_up;
	}
}

/*
 * If a level is unknown for one CPU, the plan treats it as unknown for all. So a CPU without
 * information is placed where it does no harm. If only its package or only its node is known, the
 * CPU gets the other from the first CPU that shares the known one (or a new number). If neither is
 * known, it gets both from the first CPU for which both are known. It shares an LLC with the other
 * unknown CPUs of that package and node. A level that is unknown for all CPUs stays unknown.
 */
static void fill(struct shard_cpu *cpu, u32 nr_cpus)
{
	const size_t package = offsetof(struct shard_cpu, package);
	const size_t node = offsetof(struct shard_cpu, node);
	bool has_package = max_id(cpu, nr_cpus, package) >= 0;
	bool has_node = max_id(cpu, nr_cpus, node) >= 0;

	/* a level unknown for all CPUs counts as one element while the others are filled */
	if (!has_package)
		set_all(cpu, nr_cpus, package, 0);
	if (!has_node)
		set_all(cpu, nr_cpus, node, 0);
	fill_place(cpu, nr_cpus);
	fill_llc(cpu, nr_cpus);
	if (!has_package)
		set_all(cpu, nr_cpus, package, -1);
	if (!has_node)
		set_all(cpu, nr_cpus, node, -1);
}

/*
 * Discards the packages if a last-level cache is in two of them. Some hypervisors give each virtual
 * CPU its own package. The plan needs no packages; caches and nodes are more precise.
 */
static void drop_false_packages(struct shard_cpu *cpu, u32 nr_cpus)
{
	bool false_ones = false;

	for (u32 i = 0; i < nr_cpus; i++) {
		s32 other = cpu[i].llc >= 0 ? cpu[cpu[i].llc].package : -1;

		if (cpu[i].package >= 0 && other >= 0 && cpu[i].package != other)
			false_ones = true;
	}
	if (false_ones)
		set_all(cpu, nr_cpus, offsetof(struct shard_cpu, package), -1);
}

static bool number_member(struct shard_cpu *cpu, u32 nr_cpus, u32 ids, size_t member)
{
	s32 *rank = calloc(ids, sizeof(*rank));
	s32 next = 0;

	if (!rank)
		return false;
	for (u32 i = 0; i < nr_cpus; i++) {
		s32 id = *(s32 *)((char *)&cpu[i] + member);

		if (id >= 0)
			rank[id] = 1;
	}
	for (u32 id = 0; id < ids; id++) {
		if (rank[id])
			rank[id] = next++;
	}
	for (u32 i = 0; i < nr_cpus; i++) {
		s32 *id = (s32 *)((char *)&cpu[i] + member);

		if (*id >= 0)
			*id = rank[*id];
	}
	free(rank);
	return true;
}

/* Renumbers llc, l2 and core, which are below @ids, from 0 without holes in the same order. */
static bool number(struct shard_cpu *cpu, u32 nr_cpus, u32 ids)
{
	return number_member(cpu, nr_cpus, ids, offsetof(struct shard_cpu, llc)) &&
	       number_member(cpu, nr_cpus, ids, offsetof(struct shard_cpu, l2)) &&
	       number_member(cpu, nr_cpus, ids, offsetof(struct shard_cpu, core));
}

struct shard_topo *shard_topo_complete(const struct shard_topo *known)
{
	struct shard_cpu *cpu;
	struct shard_topo *topo = shard_topo_alloc(known->nr_cpus, &cpu);

	if (!topo)
		return NULL;
	memcpy(cpu, known->cpu, known->nr_cpus * sizeof(*cpu));
	drop_false_packages(cpu, topo->nr_cpus);
	fill(cpu, topo->nr_cpus);
	/* ids are CPU numbers; up to as many invented LLCs follow */
	if (number(cpu, topo->nr_cpus, 2 * topo->nr_cpus))
		return topo;
	shard_topo_free(topo);
	return NULL;
}
