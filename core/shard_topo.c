// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Makes a plan from a machine's description. shard_topo_check() refuses machines where a sort by
 * (package, node, LLC, L2, core) would split a group. split_llcs() cuts LLCs between cores.
 * shard_plan_make.c does the rest. shard_near_rank() computes a shard's place in the walk of
 * shard_plan.c without a walk.
 */
#include "shard_topo.h"
#include "shard_mask.h"
#include "shard_plan_make.h"
#include "shard_topo_check.h"

const char *shard_plan_strerror(enum shard_plan_err err)
{
	switch (err) {
	case SHARD_PLAN_OK:
		return "no error";
	case SHARD_PLAN_NO_CPUS:
		return "the topology has no CPUs";
	case SHARD_PLAN_NO_POSSIBLE:
		return "no CPU of the topology is possible";
	case SHARD_PLAN_TOO_MANY_CPUS:
		return "more CPU numbers than a plan can hold (4194240)";
	case SHARD_PLAN_TOO_MANY_SHARDS:
		return "more than 65535 shards";
	case SHARD_PLAN_CAP_RANGE:
		return "shard cap out of range 1..64";
	case SHARD_PLAN_LLC_SPANS_PACKAGES:
		return "one last-level cache in two packages";
	case SHARD_PLAN_L2_SPANS_LLCS:
		return "one L2 cache in two last-level caches, nodes or packages";
	case SHARD_PLAN_CORE_SPANS_LLCS:
		return "one core in two L2 caches, last-level caches, nodes or packages";
	case SHARD_PLAN_CYCLIC:
		return "cyclic topology: a node in two packages, one of which is in two nodes";
	case SHARD_PLAN_NO_MEMORY:
		return "out of memory";
	}
	return "unknown error";
}

static u32 core_end(const struct shard_rec *rec, u32 i, u32 end)
{
	u32 e = i + 1;

	while (e < end && shard_rec_share(&rec[i], &rec[e], SHARD_AT_CORE))
		e++;
	return e;
}

/* Split the LLC of records @begin to @end into @pieces, numbered from @llc on. */
static s32 split_llc(struct shard_rec *rec, u32 begin, u32 end, u32 pieces, s32 llc)
{
	u32 cores = 0, done = 0, i;

	for (i = begin; i < end; i = core_end(rec, i, end))
		cores++;
	if (pieces > cores)
		pieces = cores;
	i = begin;
	for (u32 piece = 0; piece < pieces; piece++, llc++)
		for (; done < port_div64((u64)cores * (piece + 1), pieces); done++)
			for (u32 e = core_end(rec, i, end); i < e; i++)
				rec[i].at[SHARD_AT_LLC] = llc;
	return llc;
}

/* Split every LLC, or its part in a node, into @pieces. */
static void split_llcs(struct shard_rec *rec, u32 n, u32 pieces)
{
	u32 begin, end;
	s32 llc = 0;

	shard_rec_sort(rec, n, shard_rec_by_topology);
	for (begin = 0; begin < n; begin = end) {
		end = begin + 1;
		while (end < n && shard_rec_agree(&rec[begin], &rec[end], SHARD_AT_LLC + 1))
			end++;
		llc = split_llc(rec, begin, end, pieces, llc);
	}
}

static u32 fill_records(struct shard_rec *rec, const struct shard_topo *topo)
{
	u32 n = 0;

	for (u32 cpu = 0; cpu < topo->nr_cpus; cpu++) {
		const struct shard_cpu *c = &topo->cpu[cpu];

		if (!c->possible)
			continue;
		rec[n].at[SHARD_AT_PACKAGE] = c->package;
		rec[n].at[SHARD_AT_NODE] = c->node;
		rec[n].at[SHARD_AT_LLC] = c->llc;
		rec[n].at[SHARD_AT_L2] = c->l2;
		rec[n].at[SHARD_AT_CORE] = c->core < 0 ? -1 : c->core;
		rec[n].at[SHARD_AT_THREAD] = c->thread;
		rec[n].cpu = cpu;
		n++;
	}
	return n;
}

static enum shard_plan_err build(struct shard_plan **plan, struct shard_plan *head,
				 struct shard_rec *rec, const struct shard_plan_opts *opts)
{
	u32 n = head->nr_possible;
	enum shard_plan_err err = shard_topo_check(rec, n, head, opts->bad_cpu);

	if (err)
		return err;
	if (head->split_llc)
		split_llcs(rec, n, head->split_llc);
	if (shard_plan_cut(rec, n, head->cap, opts->cores) > SHARD_MAX_SHARDS)
		return SHARD_PLAN_TOO_MANY_SHARDS;
	*plan = shard_plan_make(head, rec);
	return *plan ? SHARD_PLAN_OK : SHARD_PLAN_NO_MEMORY;
}

enum shard_plan_err shard_plan_build(struct shard_plan **plan, const struct shard_topo *topo,
				     const struct shard_plan_opts *opts)
{
	static const struct shard_plan_opts defaults;
	struct shard_plan head;
	enum shard_plan_err err;
	struct shard_rec *rec;
	size_t bytes;

	*plan = NULL;
	if (!opts)
		opts = &defaults;
	memset(&head, 0, sizeof(head));
	head.nr_cpus = topo->nr_cpus;
	head.cap = opts->cap ? opts->cap : SHARD_MAX_CAP;
	head.split_llc = opts->split_llc > 1 ? opts->split_llc : 0;
	if (head.cap > SHARD_MAX_CAP)
		return SHARD_PLAN_CAP_RANGE;
	if (!topo->nr_cpus)
		return SHARD_PLAN_NO_CPUS;
	if (topo->nr_cpus > SHARD_MAX_CPUS)
		return SHARD_PLAN_TOO_MANY_CPUS;

	bytes = topo->nr_cpus * sizeof(*rec);
	rec = (struct shard_rec *)port_alloc(bytes, -1);
	if (!rec)
		return SHARD_PLAN_NO_MEMORY;
	head.nr_possible = fill_records(rec, topo);
	err = head.nr_possible ? build(plan, &head, rec, opts) : SHARD_PLAN_NO_POSSIBLE;
	port_free(rec, bytes);
	return err;
}

void shard_plan_free(struct shard_plan *plan)
{
	if (plan)
		port_free(plan, plan->bytes);
}

void shard_scatter(const struct shard_plan *plan, u32 shard, u64 word, unsigned long *mask)
{
	shard_runs_scatter(plan->shard[shard].run, plan->shard[shard].end_run, word, mask);
}

u64 shard_near_rank(const struct shard_plan *plan, u32 own, u32 shard)
{
	const struct shard_span *near = plan->shard[own].near;
	u64 level = 1;

	if (shard == own)
		return 0;
	for (; shard < near->first || shard > near->last; near++) /* the last contains all */
		level++;
	/* First the shards above @own, then those below, each in rising order. */
	return level << 32 | (shard > own ? shard - own : shard + plan->nr_shards);
}
