// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Keeps what was known about a CPU that is offline now.
 *
 * Groups stay disjoint: a CPU joins one group at most, as it has one id. If no member of a former
 * group is in a group now, that former group gets its lowest member as id. No group of @now has
 * that id, because a CPU whose number is an id is a member of that group. At the end each id is the
 * lowest member of its group again. So the result does not depend on which CPUs are offline, once
 * all have been seen.
 */
#include <stdlib.h>
#include <string.h>
#include "topo_build.h"
#include "topology.h"

static s32 *id_of(const struct shard_cpu *cpu, u32 nr, size_t member)
{
	return (s32 *)((char *)(uintptr_t)&cpu[nr] + member);
}

/* Gives each CPU without a group the group that the former members of its group are in now. */
static void inherit(struct shard_cpu *cpu, const struct shard_topo *before, size_t member,
		    s32 *heir)
{
	u32 nr;

	for (nr = 0; nr < before->nr_cpus; nr++)
		heir[nr] = -1;
	for (nr = 0; nr < before->nr_cpus; nr++) {
		s32 was = *id_of(before->cpu, nr, member), now = *id_of(cpu, nr, member);

		if (was >= 0 && now >= 0 && heir[was] < 0)
			heir[was] = now;
	}
	for (nr = 0; nr < before->nr_cpus; nr++) {
		s32 was = *id_of(before->cpu, nr, member), *now = id_of(cpu, nr, member);

		if (was < 0 || *now >= 0)
			continue;
		if (heir[was] < 0)
			heir[was] = (s32)nr;
		*now = heir[was];
	}
}

/* Makes each id the lowest CPU number of its group. */
static void lowest(struct shard_cpu *cpu, u32 nr_cpus, size_t member, s32 *low)
{
	for (u32 nr = 0; nr < nr_cpus; nr++)
		low[nr] = -1;
	for (u32 nr = 0; nr < nr_cpus; nr++) {
		s32 *id = id_of(cpu, nr, member);

		if (*id < 0)
			continue;
		if (low[*id] < 0)
			low[*id] = (s32)nr;
		*id = low[*id];
	}
}

/* Numbers the threads of each core in the order of their CPU numbers. */
static void rank_threads(struct shard_cpu *cpu, u32 nr_cpus, s32 *threads)
{
	memset(threads, 0, nr_cpus * sizeof(*threads));
	for (u32 nr = 0; nr < nr_cpus; nr++)
		if (cpu[nr].core >= 0)
			cpu[nr].thread = threads[cpu[nr].core]++;
}

struct shard_topo *shard_topo_keep(const struct shard_topo *now, const struct shard_topo *before)
{
	static const size_t groups[] = { offsetof(struct shard_cpu, llc),
					 offsetof(struct shard_cpu, l2),
					 offsetof(struct shard_cpu, core) };
	u32 nr_cpus = now->nr_cpus > before->nr_cpus ? now->nr_cpus : before->nr_cpus;
	s32 *ids = malloc(nr_cpus * sizeof(*ids));
	struct shard_cpu *cpu;
	struct shard_topo *kept = ids ? shard_topo_alloc(nr_cpus, &cpu) : NULL;

	if (!kept) {
		free(ids);
		return NULL;
	}
	memcpy(cpu, now->cpu, now->nr_cpus * sizeof(*cpu));
	for (u32 nr = 0; nr < before->nr_cpus; nr++) {
		const struct shard_cpu *was = &before->cpu[nr];

		cpu[nr].possible |= was->possible;
		if (cpu[nr].package < 0)
			cpu[nr].package = was->package;
		if (cpu[nr].node < 0)
			cpu[nr].node = was->node;
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		inherit(cpu, before, groups[i], ids);
		lowest(cpu, nr_cpus, groups[i], ids);
	}
	rank_threads(cpu, nr_cpus, ids);
	free(ids);
	return kept;
}

bool shard_topo_same(const struct shard_topo *a, const struct shard_topo *b)
{
	if (a->nr_cpus != b->nr_cpus)
		return false;
	for (u32 nr = 0; nr < a->nr_cpus; nr++) {
		const struct shard_cpu *x = &a->cpu[nr], *y = &b->cpu[nr];

		if (x->possible != y->possible || x->package != y->package || x->node != y->node ||
		    x->llc != y->llc || x->l2 != y->l2 || x->core != y->core ||
		    x->thread != y->thread)
			return false;
	}
	return true;
}
