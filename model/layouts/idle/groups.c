// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * One mask and one counter per NUMA node or per LLC, in the node's memory; flags and times stay in
 * one place. Nobody has published this for the idle set; the published series does the same to
 * rto_count and to the masks of cpupri.
 *
 * Why no CPU is missed: a CPU's bit and count are in its own group only, and any(), pick() and
 * walk() visit all groups. Order: groups from the lowest, and CPU numbers within a group. A walk
 * begins after the balancer in its own group, visits the others and ends with the balancer.
 */
#include "idle_set.h"

#include "groups.h"
#include "report_types.h"

/* A group's state, on its own line, as a kernel would allocate it. */
struct idle_group {
	unsigned long *idle_cpus_mask;
	u32 nr_cpus;
} port_cacheline_aligned;

struct grouped {
	struct idle_set set;
	struct cpu_groups groups;
	struct idle_group **group;
};

static struct grouped *grouped_of(const struct idle_set *s)
{
	return (struct grouped *)s;
}

static void grouped_destroy(struct idle_set *s)
{
	struct grouped *x = grouped_of(s);

	if (!s)
		return;
	for (u32 g = 0; x->group && g < x->groups.nr; g++) {
		if (x->group[g])
			port_free(x->group[g]->idle_cpus_mask, x->groups.words * sizeof(u64));
		port_free(x->group[g], sizeof(struct idle_group));
	}
	port_free(x->group, x->groups.nr * sizeof(struct idle_group *));
	cpu_groups_free(&x->groups);
	idle_free(s, sizeof(*x));
}

static bool add_group(struct grouped *x, u32 g)
{
	rd_label("idle group", "struct idle_group");
	x->group[g] = port_alloc(sizeof(struct idle_group), x->groups.node[g]);
	if (!x->group[g])
		return false;
	rd_label("idle_cpus_mask of a group", "struct rd_mask_line");
	x->group[g]->idle_cpus_mask = port_alloc(x->groups.words * sizeof(u64), x->groups.node[g]);
	return x->group[g]->idle_cpus_mask;
}

static struct idle_set *grouped_create(const struct shard_topo *topo, enum groups_by by)
{
	struct idle_set *s = idle_alloc(sizeof(struct grouped));
	struct grouped *x = grouped_of(s);

	if (!s)
		return NULL;
	rd_label("idle set's pointers", NULL);
	if (!cpu_groups_init(&x->groups, topo, by))
		goto fail;
	x->group = port_alloc(x->groups.nr * sizeof(struct idle_group *), -1);
	if (!x->group)
		goto fail;
	for (u32 g = 0; g < x->groups.nr; g++)
		if (!add_group(x, g))
			goto fail;
	return s;
fail:
	grouped_destroy(s);
	return NULL;
}

static struct idle_set *node_create(const struct shard_topo *topo, const struct shard_plan *plan)
{
	return grouped_create(topo, GROUPS_NODE);
}

static struct idle_set *llc_create(const struct shard_topo *topo, const struct shard_plan *plan)
{
	return grouped_create(topo, GROUPS_LLC);
}

static void grouped_enter(struct idle_set *s, u32 cpu)
{
	struct grouped *x = grouped_of(s);
	struct idle_group *g = x->group[x->groups.of[cpu]];

	port_or64((u64 *)&READ_ONCE(g->idle_cpus_mask)[cpu / 64], 1ull << cpu % 64);
	__atomic_fetch_add(&g->nr_cpus, 1, __ATOMIC_RELAXED);
	idle_raise_flags(s->nohz);
}

static void grouped_exit(struct idle_set *s, u32 cpu)
{
	struct grouped *x = grouped_of(s);
	struct idle_group *g = x->group[x->groups.of[cpu]];

	port_and64((u64 *)&READ_ONCE(g->idle_cpus_mask)[cpu / 64], ~(1ull << cpu % 64));
	__atomic_fetch_sub(&g->nr_cpus, 1, __ATOMIC_RELAXED);
}

/* The caller's group first: its line is the cheapest. */
static bool grouped_any(const struct idle_set *s, u32 this_cpu)
{
	const struct grouped *x = grouped_of(s);
	u32 own = x->groups.of[this_cpu];

	for (u32 i = 0; i < x->groups.nr; i++)
		if (READ_ONCE(x->group[(own + i) % x->groups.nr]->nr_cpus))
			return true;
	return false;
}

static bool grouped_test(const struct idle_set *s, u32 cpu)
{
	const struct grouped *x = grouped_of(s);
	const struct idle_group *g = x->group[x->groups.of[cpu]];

	return READ_ONCE(READ_ONCE(g->idle_cpus_mask)[cpu / 64]) >> cpu % 64 & 1;
}

/* A group's first idle CPU in [@from, @end). */
static s64 next_in(const struct grouped *x, u32 g, u32 from, u32 end)
{
	return idle_mask_next(READ_ONCE(x->group[g]->idle_cpus_mask), from, end);
}

static s64 grouped_pick(const struct idle_set *s, u32 this_cpu, s64 after)
{
	const struct grouped *x = grouped_of(s);
	u32 from = (u32)(after + 1), g = after < 0 ? 0 : x->groups.of[after];

	for (; g < x->groups.nr; g++, from = 0) {
		s64 cpu = next_in(x, g, from, x->groups.nr_cpus);

		if (cpu >= 0)
			return cpu;
	}
	return -1;
}

static s64 grouped_walk(const struct idle_set *s, u32 this_cpu, s64 after)
{
	const struct grouped *x = grouped_of(s);
	u32 own = x->groups.of[this_cpu], g = after < 0 ? own : x->groups.of[after];
	u32 from = (after < 0 ? this_cpu : (u32)after) + 1;

	/* Back in the balancer's group, before the balancer itself. */
	if (g == own && after >= 0 && after <= (s64)this_cpu)
		return next_in(x, own, from, this_cpu + 1);
	do {
		s64 cpu = next_in(x, g, from, x->groups.nr_cpus);

		if (cpu >= 0)
			return cpu;
		g = (g + 1) % x->groups.nr;
		from = 0;
	} while (g != own);
	return next_in(x, own, 0, this_cpu + 1);
}

static size_t grouped_bytes(const struct idle_set *s)
{
	const struct grouped *x = grouped_of(s);
	size_t lines = (x->groups.words * sizeof(u64) + PORT_CACHELINE - 1) / PORT_CACHELINE;

	return x->groups.nr * (sizeof(struct idle_group) + lines * PORT_CACHELINE);
}

#define GROUPED_OPS                                                                           \
	.destroy = grouped_destroy, .enter = grouped_enter, .stay = idle_stay,                \
	.exit = grouped_exit, .any = grouped_any, .test = grouped_test, .pick = grouped_pick, \
	.walk = grouped_walk, .bytes = grouped_bytes

const struct idle_ops idle_node = { .name = "node", .create = node_create, GROUPED_OPS };
const struct idle_ops idle_llc = { .name = "llc", .create = llc_create, GROUPED_OPS };
