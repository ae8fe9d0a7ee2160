// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * An earlier form of schedshard's layout. Levels and overload are one byte per CPU each, a line per
 * shard (core/cpupri.c, core/overload.c). Each push walk has one word (core/push_walk.c).
 *
 * There is a walk per shard, and one for the machine. The shard's walk visits the overloaded CPUs
 * of the shard, the machine's walk visits wide CPUs: only those are visible outside their shard. A
 * CPU that becomes free requests each of the two that has a CPU to visit. So pinned workloads of
 * different shards do not share a walk.
 *
 * The root domain's first line contains only fields that CPUs only read. A walk takes no reference
 * on the root domain: push_walk.h says when it may be freed.
 */
#include "choices.h"
#include "atomics.h"
#include "cpupri.h"
#include "overload.h"
#include "push_walk.h"
#include "rd.h"
#include "report_types.h"
#include "root_domain.h"
#include "slab.h"

struct root_domain_shard {
	/* All CPUs read these fields, and none writes them after create(). */
	struct cpupri cpupri;
	struct overload *rto;
	struct push_walk **shard_walk; /* by shard */

	/* Fields for deadline tasks, the reference count, and fields that are seldom read. */
	u32 refcount port_cacheline_aligned;
	u32 dlo_count;
	SPAN_FIELDS;
	struct perf_domain *pd;
	unsigned long *dlo_mask;
	DEADLINE_FIELDS;
	u64 visit_gen;

	/* Read by every CPU that becomes free while another shard has wide CPUs. */
	struct push_walk wide_walk;

	/* Read at every newly idle balance and enqueue, written when it changes. */
	u8 overloaded port_cacheline_aligned;
	u8 overutilized;
};

static_assert(offsetof(struct root_domain_shard, refcount) == PORT_CACHELINE, "read-only line");
static_assert(offsetof(struct root_domain_shard, wide_walk) % PORT_CACHELINE == 0, "own line");
static_assert(sizeof(struct root_domain_shard) == 5 * PORT_CACHELINE, "stock: 29 lines");

struct rd {
	struct root_domain_shard root;
	unsigned long *active; /* Linux: a global */
	struct mask_slab slab;
};

/* Make a line per shard, on its node, because only that shard's CPUs request its walk. */
static bool make_walks(struct rd *rd, const struct shard_plan *plan)
{
	push_walk_init(&rd->root.wide_walk);
	rd_label("walks by shard", NULL);
	rd->root.shard_walk = port_alloc(plan->nr_shards * sizeof(*rd->root.shard_walk), -1);
	if (!rd->root.shard_walk)
		return false;
	rd_label("push walk", "struct push_walk");
	for (u32 i = 0; i < plan->nr_shards; i++) {
		struct push_walk *walk = port_alloc(sizeof(*walk), plan->shard[i].node);

		if (!walk)
			return false;
		push_walk_init(walk);
		rd->root.shard_walk[i] = walk;
	}
	return true;
}

static void free_walks(struct rd *rd)
{
	u32 nr = rd->root.rto ? rd->root.rto->map->plan->nr_shards : 0;

	for (u32 i = 0; rd->root.shard_walk && i < nr; i++)
		port_free(rd->root.shard_walk[i], sizeof(struct push_walk));
	port_free(rd->root.shard_walk, nr * sizeof(*rd->root.shard_walk));
}

static void destroy(struct rd *rd)
{
	free_walks(rd);
	if (rd->root.cpupri.map)
		cpupri_cleanup(&rd->root.cpupri);
	overload_free(rd->root.rto);
	mask_slab_free(&rd->slab);
	port_free(rd, sizeof(*rd));
}

static bool fill(struct rd *rd, u32 nr_cpus, const struct shard_plan *plan,
		 const unsigned long *span)
{
	rd_label("span and active", "struct rd_mask_line");
	if (!mask_slab_init(&rd->slab, nr_cpus, 5, -1))
		return false;
	rd->root.span = mask_slab_take(&rd->slab);
	rd->root.online = mask_slab_take(&rd->slab);
	rd->active = mask_slab_take(&rd->slab);
	rd->root.dlo_mask = mask_slab_take(&rd->slab);
	rd->root.cpudl.free_cpus = mask_slab_take(&rd->slab);
	for (u32 i = 0; i < rd->slab.words; i++)
		rd->root.span[i] = rd->root.online[i] = rd->active[i] = span[i];
	rd->root.refcount = 1;
	rd_label("cpupri", "struct rd_byte_line");
	if (!cpupri_init(&rd->root.cpupri, plan))
		return false;
	rd_label("overload set", "struct rd_byte_line");
	rd->root.rto = overload_alloc(plan);
	if (!rd->root.rto)
		return false;
	return make_walks(rd, plan);
}

static struct rd *create(const struct shard_topo *topo, const struct shard_plan *plan,
			 const unsigned long *span)
{
	struct rd *rd;

	rd_label("root_domain", "struct root_domain_shard");
	rd = port_alloc(sizeof(*rd), -1);
	if (!rd)
		return NULL;
	if (fill(rd, topo->nr_cpus, plan, span))
		return rd;
	destroy(rd);
	return NULL;
}

static void set_level(struct rd *rd, u32 cpu, int level)
{
	cpupri_set(&rd->root.cpupri, cpu, level);
}

static int find(struct rd *rd, int level, u32 this_cpu, const unsigned long *allowed,
		unsigned long *found, bool (*fits)(u32 cpu, void *arg), void *arg)
{
	return cpupri_find_fitness(&rd->root.cpupri, level, this_cpu, allowed, rd->active, found,
				   fits, arg);
}

static int find_near(struct rd *rd, int level, u32 home_cpu, const unsigned long *allowed,
		     unsigned long *found, bool (*fits)(u32 cpu, void *arg), void *arg)
{
	return cpupri_find_near(&rd->root.cpupri, level, home_cpu, allowed, rd->active, found, fits,
				arg);
}

static void overload_set_cpu(struct rd *rd, u32 cpu, bool wide)
{
	overload_set(rd->root.rto, cpu, wide);
}

static void overload_clear_cpu(struct rd *rd, u32 cpu)
{
	overload_clear(rd->root.rto, cpu);
}

static u32 overloaded(struct rd *rd, u32 this_cpu, u64 period)
{
	u32 who = overload_query(rd->root.rto, this_cpu, period);

	if (who == OVERLOAD_SELF)
		return RD_ONLY_ME;
	return (who & OVERLOAD_NEAR ? RD_OTHERS : 0) | (who & OVERLOAD_WIDE ? RD_FAR : 0);
}

static u32 shard_of(const struct rd *rd, u32 cpu)
{
	return rd->root.rto->slot[cpu].shard;
}

static s64 next(const struct rd *rd, u32 this_cpu, u32 walk, s64 cpu)
{
	return walk ? overload_next_wide(rd->root.rto, cpu)
		    : overload_next_near(rd->root.rto, shard_of(rd, this_cpu), cpu);
}

static struct push_walk *walk_of(struct rd *rd, u32 this_cpu, u32 walk)
{
	return walk ? &rd->root.wide_walk : rd->root.shard_walk[shard_of(rd, this_cpu)];
}

/* The next stop of a walk that the caller carries. */
static s64 next_stop(struct rd *rd, u32 this_cpu, u32 walk, s64 cpu)
{
	for (;;) {
		cpu = next(rd, this_cpu, walk, cpu);
		if (cpu >= 0 || !push_walk_again(walk_of(rd, this_cpu, walk)))
			return cpu;
	}
}

static s64 walk_request(struct rd *rd, u32 this_cpu, u32 walk)
{
	if (!push_walk_request(walk_of(rd, this_cpu, walk)))
		return -1;
	return next_stop(rd, this_cpu, walk, -1);
}

static void walk_arrive(struct rd *rd, u32 this_cpu, u32 walk)
{
}

/* The walk stands on the CPU that runs the interrupt. */
static s64 walk_next(struct rd *rd, u32 this_cpu, u32 walk)
{
	return next_stop(rd, this_cpu, walk, this_cpu);
}

static u8 *flag(struct rd *rd)
{
	return &rd->root.overloaded;
}

static size_t map_size(const struct bytemap *map)
{
	return map->bytes + (size_t)map->plan->nr_shards * PORT_CACHELINE;
}

static size_t summary_size(const struct overload *rto)
{
	return rto->summary ? rto->summary->bytes : 0;
}

static size_t map_bytes(const struct rd *rd)
{
	return sizeof(rd->root.cpupri) + map_size(rd->root.cpupri.map) + sizeof(rd->root.rto) +
	       sizeof(*rd->root.rto) + map_size(rd->root.rto->map) + summary_size(rd->root.rto);
}

const struct rd_ops RD_OPS(walks) = {
	.name = "walks",
	.by_index = true,
	.only_waiting = true,
	.walk_a_shard = true,
	.find_near = find_near,
	RD_OPERATIONS,
};
