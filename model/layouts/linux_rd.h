/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * linux_rd.h - the RT scheduler's global state as Linux 6.12 keeps it, for any layout of
 * struct root_domain. A layout's file defines, then includes this:
 *
 *   LAYOUT			the part of its rd_ops' name after rd_
 *   RD_NAME			its name in tables, a string
 *   ROOT_DOMAIN		its struct
 *   VEC_COUNT(root, level)	the counter of a level
 *   VEC_MASK(root, level)	the pointer to the mask (or masks) of a level
 *   MASKS			MASKS_ONE, MASKS_NODE, MASKS_SBM, or MASKS_NONE: a byte per CPU
 *   FLAT			MASKS_NONE: by CPU number, not in the order of caches [false]
 *   COUNTS			COUNTS_ONE (rto_count), COUNTS_NODE (rto_counts),
 *				or with MASKS_NONE COUNTS_NONE: a byte per CPU for its overload
 *   ONLY_WAITING		overloaded only while a pushable task cannot run at once [false]
 *
 * So one source is compiled per layout, with the layout's offsets, and reports show the layout's
 * field names. This file contains the allocation and the table of operations; linux_cpupri.h,
 * linux_overload.h, linux_walk.h and the headers of masks do the work.
 */
#include "atomics.h"
#include "groups.h"
#include "choices.h"
#include "rd.h"
#include "report_types.h"
#include "root_domain.h"
#include "slab.h"

/**
 * struct rd - stands for rq->rd and for Linux's globals; read-only after create()
 * @root: the root domain
 * @active: cpu_active_mask
 * @nodes: CPUs by NUMA node, as in cpu_to_node() and cpumask_of_node()
 * @counted: CPUs by node or by LLC: which counter each CPU uses
 * @slab: the masks of the root domain
 * @node_slab: by node: masks of levels, MASKS_NODE
 * @arrays: the arrays of pointers to the masks in @node_slab
 * @own: with COUNTS_NONE: by queue: what it has published, on a separate line, as inside the queue
 */
struct rd {
	ROOT_DOMAIN *root;
	unsigned long *active;
	u32 nr_cpus, words;
	struct cpu_groups nodes, counted;
	const struct shard_plan *plan;
	struct mask_slab slab, arrays;
	struct mask_slab *node_slab;
	struct rto_rq **own;
	s32 home;
};

#ifndef ONLY_WAITING
#define ONLY_WAITING false
#endif
#ifndef FLAT
#define FLAT false
#endif

#if MASKS == MASKS_ONE
#include "linux_mask_one.h"
#elif MASKS == MASKS_NODE
#include "linux_mask_node.h"
#elif MASKS == MASKS_SBM
#include "linux_mask_sbm.h"
#endif
#if MASKS == MASKS_NONE
#include "linux_bytes.h"
#else
#include "linux_cpupri.h"
#endif
#include "linux_overload.h"
#include "linux_walk.h"

#if COUNTS != COUNTS_NONE
static bool rto_alloc(struct rd *rd, const struct shard_topo *topo)
{
	(void)rd;
	return true;
}
#endif

static u8 *flag(struct rd *rd)
{
	return &rd->root->overloaded;
}

static size_t map_bytes(const struct rd *rd)
{
	return sizeof(rd->root->cpupri) + levels_bytes(rd) + overload_bytes(rd);
}

static void destroy(struct rd *rd)
{
	if (rd->root) {
		overload_free_counts(rd);
		levels_free(rd);
		port_free(rd->root, sizeof(*rd->root));
	}
	mask_slab_free(&rd->slab);
	port_free(rd->active, rd->words * sizeof(unsigned long));
	cpu_groups_free(&rd->nodes);
	cpu_groups_free(&rd->counted);
	port_free(rd, sizeof(*rd));
}

static s32 first_node(const struct shard_topo *topo, const unsigned long *span)
{
	for (u32 cpu = 0; cpu < topo->nr_cpus; cpu++)
		if (span[cpu / 64] >> cpu % 64 & 1)
			return topo->cpu[cpu].node;
	return -1;
}

/* In Linux's order of allocation: masks of the root domain, of levels, cpu_to_pri. */
static bool fill(struct rd *rd, const struct shard_topo *topo, const unsigned long *span)
{
	ROOT_DOMAIN *root;

	rd_label("root_domain", RD_STRING(ROOT_DOMAIN));
	root = rd->root = port_alloc(sizeof(*root), rd->home);
	rd_label("span and level masks", "struct rd_mask_line");
	if (!root || !mask_slab_init(&rd->slab, rd->nr_cpus, 5 + RD_LEVELS, rd->home))
		return false;
	root->span = mask_slab_take(&rd->slab);
	root->online = mask_slab_take(&rd->slab);
	root->dlo_mask = mask_slab_take(&rd->slab);
	for (u32 i = 0; i < rd->words; i++)
		rd->active[i] = root->span[i] = root->online[i] = span[i];
	root->rto_cpu = -1;
	root->refcount = 1;
	if (!overload_alloc_mask(rd) || !overload_alloc_counts(rd))
		return false;
	root->cpudl.free_cpus = mask_slab_take(&rd->slab);
	return levels_alloc(rd, topo) && rto_alloc(rd, topo);
}

static struct rd *create(const struct shard_topo *topo, const struct shard_plan *plan,
			 const unsigned long *span)
{
	struct rd *rd;

	rd_label("tables", NULL);
	rd = port_alloc(sizeof(*rd), -1);
	if (!rd)
		return NULL;
	rd->nr_cpus = topo->nr_cpus;
	rd->words = (topo->nr_cpus + 63) / 64;
	rd->plan = plan;
	rd->home = first_node(topo, span);
	rd->active = port_alloc(rd->words * sizeof(unsigned long), -1);
	if (rd->active && cpu_groups_init(&rd->nodes, topo, GROUPS_NODE) &&
	    cpu_groups_init(&rd->counted, topo, GROUPS_NODE) && fill(rd, topo, span))
		return rd;
	destroy(rd);
	return NULL;
}

#if COUNTS == COUNTS_NONE
static struct rd_reach reach(const unsigned long *allowed)
{
	struct rd_reach r;

	rto_reach((const struct cpumask *)allowed, &r.shards, &r.places);
	return r;
}

static bool reaches(struct rd_reach r, u32 cpu)
{
	return rto_reaches(r.shards, r.places, (int)cpu);
}

static u32 place(u32 cpu)
{
	return cpu_slot[cpu];
}
#endif

const struct rd_ops RD_OPS(LAYOUT) = {
	.name = RD_NAME,
	.by_index = MASKS == MASKS_SBM || COUNTS == COUNTS_NONE,
	.only_waiting = ONLY_WAITING,
#if MASKS == MASKS_NONE
	.find_near = find_near,
#else
	.find_near = find,
#endif
#if COUNTS == COUNTS_NONE
	.reach = reach,
	.reaches = reaches,
	.place = place,
#endif
	RD_OPERATIONS,
};
