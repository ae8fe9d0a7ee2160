// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Ours: levels and overload in one byte a CPU each, a line a shard (core/cpupri.c,
 * core/overload.c), and one word for the walk (core/push_walk.c).
 *
 * The root domain has what is only read on its first line, and every field that is written
 * apart from it. The walk's interrupt is no field of it: there is one walk at a time, and
 * the target's own work item in its run queue does.
 */
#include "atomics.h"
#include "cpupri.h"
#include "overload.h"
#include "push_walk.h"
#include "rd.h"
#include "report_types.h"
#include "root_domain.h"
#include "slab.h"

struct root_domain_shard {
	/* Read by everyone, never written once made. */
	struct cpupri cpupri;
	struct overload *rto;
	unsigned long *active; /* Linux: a global */

	/* Deadline tasks, the domain's life, and what is seldom asked for. */
	u32 refcount port_cacheline_aligned;
	u32 dlo_count;
	struct callback_head rcu;
	unsigned long *span;
	unsigned long *online;
	struct perf_domain *pd;
	unsigned long *dlo_mask;
	struct dl_bw dl_bw;
	struct cpudl cpudl;
	u64 visit_gen;

	/* Read by every CPU that becomes free. */
	struct push_walk rto_walk;

	/* Read at every newly idle balance and enqueue, written when it changes. */
	u8 overloaded port_cacheline_aligned;
	u8 overutilized;
};

static_assert(offsetof(struct root_domain_shard, refcount) == PORT_CACHELINE, "read-only line");
static_assert(offsetof(struct root_domain_shard, rto_walk) % PORT_CACHELINE == 0, "own line");
static_assert(sizeof(struct root_domain_shard) == 5 * PORT_CACHELINE, "stock: 29 lines");

struct rd {
	struct root_domain_shard root;
	struct mask_slab slab;
};

static void destroy(struct rd *rd)
{
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
	rd->root.active = mask_slab_take(&rd->slab);
	rd->root.dlo_mask = mask_slab_take(&rd->slab);
	rd->root.cpudl.free_cpus = mask_slab_take(&rd->slab);
	for (u32 i = 0; i < rd->slab.words; i++)
		rd->root.span[i] = rd->root.online[i] = rd->root.active[i] = span[i];
	rd->root.refcount = 1;
	push_walk_init(&rd->root.rto_walk);
	rd_label("cpupri", "struct rd_byte_line");
	if (!cpupri_init(&rd->root.cpupri, plan))
		return false;
	rd_label("overload set", "struct rd_byte_line");
	rd->root.rto = overload_alloc(plan);
	return rd->root.rto;
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
	return cpupri_find_fitness(&rd->root.cpupri, level, this_cpu, allowed, rd->root.active,
				   found, fits, arg);
}

static int find_near(struct rd *rd, int level, u32 home_cpu, const unsigned long *allowed,
		     unsigned long *found, bool (*fits)(u32 cpu, void *arg), void *arg)
{
	return cpupri_find_near(&rd->root.cpupri, level, home_cpu, allowed, rd->root.active, found,
				fits, arg);
}

static void overload_set_cpu(struct rd *rd, u32 cpu)
{
	overload_set(rd->root.rto, cpu);
}

static void overload_clear_cpu(struct rd *rd, u32 cpu)
{
	overload_clear(rd->root.rto, cpu);
}

static enum rd_overload overloaded(const struct rd *rd, u32 this_cpu)
{
	switch (overload_query(rd->root.rto, this_cpu)) {
	case OVERLOAD_NONE:
		return RD_NONE;
	case OVERLOAD_ONLY_ME:
		return RD_ONLY_ME;
	case OVERLOAD_OTHERS:
		break;
	}
	return RD_OTHERS;
}

static s64 next(const struct rd *rd, s64 cpu)
{
	return overload_next(rd->root.rto, cpu);
}

static void tidy(struct rd *rd, u32 cpu)
{
	overload_tidy(rd->root.rto, cpu);
}

/* The next stop of a walk that the caller carries. */
static s64 next_stop(struct rd *rd, s64 cpu)
{
	for (;;) {
		cpu = overload_next(rd->root.rto, cpu);
		if (cpu >= 0 || !push_walk_again(&rd->root.rto_walk))
			return cpu;
	}
}

static s64 walk_request(struct rd *rd, u32 this_cpu)
{
	s64 cpu;

	if (!push_walk_request(&rd->root.rto_walk))
		return -1;
	cpu = next_stop(rd, -1);
	if (cpu >= 0)
		atomic_inc32(&rd->root.refcount);
	return cpu;
}

static void walk_arrive(struct rd *rd, u32 this_cpu)
{
}

/* The walk stands where the interrupt runs. */
static s64 walk_next(struct rd *rd, u32 this_cpu)
{
	s64 cpu = next_stop(rd, this_cpu);

	if (cpu < 0)
		atomic_dec32(&rd->root.refcount);
	return cpu;
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
	return sizeof(rd->root.cpupri) + rd->root.cpupri.bytes + map_size(rd->root.cpupri.map) +
	       sizeof(rd->root.rto) + rd->root.rto->bytes + map_size(rd->root.rto->map) +
	       summary_size(rd->root.rto);
}

const struct rd_ops rd_shard = {
	.name = "shard",
	.create = create,
	.destroy = destroy,
	.set_level = set_level,
	.find = find,
	.find_near = find_near,
	.overload_set = overload_set_cpu,
	.overload_clear = overload_clear_cpu,
	.overloaded = overloaded,
	.next = next,
	.tidy = tidy,
	.walk_request = walk_request,
	.walk_arrive = walk_arrive,
	.walk_next = walk_next,
	.flag = flag,
	.map_bytes = map_bytes,
};
