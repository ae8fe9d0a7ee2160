// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Is this a topology with an order?
 *
 * shard_plan_cut() sorts by (package, node, LLC, L2, core) and takes equal neighbours for one
 * group. That is right if each group lies within one group of the level above. So the check goes
 * level by level. It sorts by the level's id; all records of one id must agree about the levels
 * above. The sort makes the records of one id neighbours. To compare neighbours is enough, as
 * agreement is transitive.
 *
 * Real machines have two exceptions. A node may hold several packages (NUMA off), or a package
 * several nodes. But if a node that spans two packages meets a package that spans two nodes,
 * neither order is right. And an LLC may span several nodes (sub-NUMA clustering): the cut takes
 * (package, node, LLC) for one LLC, and so cuts it at the nodes.
 */
#include "shard_topo_check.h"

/* By one level, then CPU number, so that the reported CPU does not depend on the sort. */
static int by_level(const void *a, const void *b, enum shard_at level)
{
	const struct shard_rec *x = (const struct shard_rec *)a, *y = (const struct shard_rec *)b;

	if (x->at[level] != y->at[level])
		return x->at[level] < y->at[level] ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static int by_core(const void *a, const void *b)
{
	return by_level(a, b, SHARD_AT_CORE);
}

static int by_l2(const void *a, const void *b)
{
	return by_level(a, b, SHARD_AT_L2);
}

static int by_llc(const void *a, const void *b)
{
	return by_level(a, b, SHARD_AT_LLC);
}

static int by_node(const void *a, const void *b)
{
	return by_level(a, b, SHARD_AT_NODE);
}

static int by_package(const void *a, const void *b)
{
	return by_level(a, b, SHARD_AT_PACKAGE);
}

static bool same(const struct shard_rec *a, const struct shard_rec *b, enum shard_at level)
{
	return a->at[level] == b->at[level];
}

/* Are both of one known @level? */
static bool share(const struct shard_rec *a, const struct shard_rec *b, enum shard_at level)
{
	return a->at[level] >= 0 && same(a, b, level);
}

static bool same_above_l2(const struct shard_rec *a, const struct shard_rec *b)
{
	return same(a, b, SHARD_AT_LLC) && same(a, b, SHARD_AT_NODE) &&
	       same(a, b, SHARD_AT_PACKAGE);
}

static enum shard_plan_err fail(enum shard_plan_err err, const struct shard_rec *rec, u32 *bad_cpu)
{
	if (bad_cpu)
		*bad_cpu = rec->cpu;
	return err;
}

static enum shard_plan_err check_caches(struct shard_rec *rec, u32 n, u32 *bad_cpu)
{
	shard_rec_sort(rec, n, by_core);
	for (u32 i = 1; i < n; i++)
		if (share(&rec[i - 1], &rec[i], SHARD_AT_CORE) &&
		    (!same(&rec[i - 1], &rec[i], SHARD_AT_L2) ||
		     !same_above_l2(&rec[i - 1], &rec[i])))
			return fail(SHARD_PLAN_CORE_SPANS_LLCS, &rec[i], bad_cpu);

	shard_rec_sort(rec, n, by_l2);
	for (u32 i = 1; i < n; i++)
		if (share(&rec[i - 1], &rec[i], SHARD_AT_L2) &&
		    !same_above_l2(&rec[i - 1], &rec[i]))
			return fail(SHARD_PLAN_L2_SPANS_LLCS, &rec[i], bad_cpu);
	return SHARD_PLAN_OK;
}

/* An LLC that is really a node or the machine may hold several packages. */
static enum shard_plan_err check_llcs(struct shard_rec *rec, u32 n, u32 *bad_cpu)
{
	shard_rec_sort(rec, n, by_llc);
	for (u32 i = 1; i < n; i++)
		if (same(&rec[i - 1], &rec[i], SHARD_AT_LLC) &&
		    !same(&rec[i - 1], &rec[i], SHARD_AT_PACKAGE))
			return fail(SHARD_PLAN_LLC_SPANS_PACKAGES, &rec[i], bad_cpu);
	return SHARD_PLAN_OK;
}

/* @shard is not in use yet: here it is 1 for a CPU whose node is in several packages. */
static enum shard_plan_err check_nodes(struct shard_rec *rec, u32 n, struct shard_plan *head,
				       u32 *bad_cpu)
{
	u32 begin, end;

	shard_rec_sort(rec, n, by_node);
	for (begin = 0; begin < n; begin = end, head->nr_nodes++) {
		u32 spans = 0;

		for (end = begin; end < n && same(&rec[end], &rec[begin], SHARD_AT_NODE); end++)
			spans |= !same(&rec[end], &rec[begin], SHARD_AT_PACKAGE);
		for (u32 i = begin; i < end; i++)
			rec[i].shard = spans;
	}

	shard_rec_sort(rec, n, by_package);
	for (begin = 0; begin < n; begin = end, head->nr_packages++) {
		const struct shard_rec *spanning = NULL;
		bool spans = false;

		for (end = begin; end < n && same(&rec[end], &rec[begin], SHARD_AT_PACKAGE);
		     end++) {
			spans |= !same(&rec[end], &rec[begin], SHARD_AT_NODE);
			if (rec[end].shard)
				spanning = &rec[end];
		}
		if (spans && spanning)
			return fail(SHARD_PLAN_CYCLIC, spanning, bad_cpu);
	}
	return SHARD_PLAN_OK;
}

/* All or nothing for each id, then the lowest level that is known for every CPU. */
static enum shard_plan_level choose_level(struct shard_rec *rec, u32 n)
{
	bool known[SHARD_AT_CORE];

	for (u32 level = 0; level < SHARD_AT_CORE; level++) {
		known[level] = true;
		for (u32 i = 0; i < n; i++)
			known[level] &= rec[i].at[level] >= 0;
		for (u32 i = 0; !known[level] && i < n; i++)
			rec[i].at[level] = -1;
	}
	if (known[SHARD_AT_LLC])
		return SHARD_LEVEL_LLC;
	for (u32 i = 0; i < n; i++)
		rec[i].at[SHARD_AT_LLC] = known[SHARD_AT_NODE]	    ? rec[i].at[SHARD_AT_NODE]
					  : known[SHARD_AT_PACKAGE] ? rec[i].at[SHARD_AT_PACKAGE]
								    : 0;
	return known[SHARD_AT_NODE]	 ? SHARD_LEVEL_NODE
	       : known[SHARD_AT_PACKAGE] ? SHARD_LEVEL_PACKAGE
					 : SHARD_LEVEL_ALL;
}

enum shard_plan_err shard_topo_check(struct shard_rec *rec, u32 n, struct shard_plan *head,
				     u32 *bad_cpu)
{
	enum shard_plan_err err;

	head->level = choose_level(rec, n);
	err = check_nodes(rec, n, head, bad_cpu);
	if (!err && head->level == SHARD_LEVEL_LLC)
		err = check_llcs(rec, n, bad_cpu);
	if (!err)
		err = check_caches(rec, n, bad_cpu);
	return err;
}
