// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Is this a topology that can be put in order?
 *
 * The build sorts by (package, node, LLC, L2, core) and takes equal neighbours for one
 * group. That is right if each group lies within one group of the level above. So, level
 * by level: sort by the level's id, and all records of one id must agree about what is
 * above. Sorting makes the records of one id neighbours, and comparing neighbours is
 * enough, as agreeing is transitive.
 *
 * Two exceptions that real machines have: a node may hold several packages (NUMA off) or
 * a package several nodes; but when a node that reaches into two packages meets a
 * package that reaches into two nodes, neither order is right. And an LLC may reach into
 * several nodes (sub-NUMA clustering): it is cut there, for (package, node, LLC) is what
 * the build takes for one LLC.
 */
#include "shard_plan_internal.h"

static void sift_down(struct shard_rec *rec, u32 root, u32 n, shard_rec_before before)
{
	struct shard_rec moving = rec[root];
	u32 child;

	while ((child = 2 * root + 1) < n) {
		if (child + 1 < n && before(&rec[child], &rec[child + 1]))
			child++;
		if (!before(&moving, &rec[child]))
			break;
		rec[root] = rec[child];
		root = child;
	}
	rec[root] = moving;
}

void shard_rec_sort(struct shard_rec *rec, u32 n, shard_rec_before before)
{
	for (u32 i = n / 2; i-- > 0;)
		sift_down(rec, i, n, before);
	for (u32 end = n; end-- > 1;) {
		struct shard_rec top = rec[0];

		rec[0] = rec[end];
		rec[end] = top;
		sift_down(rec, 0, end, before);
	}
}

/* Equal ids in order of CPU number, so that the CPU that is blamed does not depend on the sort. */
static bool by_core(const struct shard_rec *a, const struct shard_rec *b)
{
	return a->core != b->core ? a->core < b->core : a->cpu < b->cpu;
}

static bool by_l2(const struct shard_rec *a, const struct shard_rec *b)
{
	return a->l2 != b->l2 ? a->l2 < b->l2 : a->cpu < b->cpu;
}

static bool by_llc(const struct shard_rec *a, const struct shard_rec *b)
{
	return a->llc != b->llc ? a->llc < b->llc : a->cpu < b->cpu;
}

static bool by_node(const struct shard_rec *a, const struct shard_rec *b)
{
	return a->node != b->node ? a->node < b->node : a->cpu < b->cpu;
}

static bool by_package(const struct shard_rec *a, const struct shard_rec *b)
{
	return a->package != b->package ? a->package < b->package : a->cpu < b->cpu;
}

static bool same_above_l2(const struct shard_rec *a, const struct shard_rec *b)
{
	return a->llc == b->llc && a->node == b->node && a->package == b->package;
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
		if (shard_rec_same_core(&rec[i - 1], &rec[i]) &&
		    (rec[i - 1].l2 != rec[i].l2 || !same_above_l2(&rec[i - 1], &rec[i])))
			return fail(SHARD_PLAN_CORE_SPANS_LLCS, &rec[i], bad_cpu);

	shard_rec_sort(rec, n, by_l2);
	for (u32 i = 1; i < n; i++)
		if (rec[i].l2 >= 0 && rec[i - 1].l2 == rec[i].l2 &&
		    !same_above_l2(&rec[i - 1], &rec[i]))
			return fail(SHARD_PLAN_L2_SPANS_LLCS, &rec[i], bad_cpu);
	return SHARD_PLAN_OK;
}

/* An LLC that is really a node or the machine may hold several packages. */
static enum shard_plan_err check_llcs(struct shard_rec *rec, u32 n, u32 *bad_cpu)
{
	shard_rec_sort(rec, n, by_llc);
	for (u32 i = 1; i < n; i++)
		if (rec[i - 1].llc == rec[i].llc && rec[i - 1].package != rec[i].package)
			return fail(SHARD_PLAN_LLC_SPANS_PACKAGES, &rec[i], bad_cpu);
	return SHARD_PLAN_OK;
}

static enum shard_plan_err check_nodes(struct shard_rec *rec, u32 n, u32 *nr_nodes,
				       u32 *nr_packages, u32 *bad_cpu)
{
	u32 begin, end;

	*nr_nodes = 0;
	shard_rec_sort(rec, n, by_node);
	for (begin = 0; begin < n; begin = end, ++*nr_nodes) {
		bool spans = false;

		for (end = begin; end < n && rec[end].node == rec[begin].node; end++)
			spans |= rec[end].package != rec[begin].package;
		for (u32 i = begin; i < end; i++)
			rec[i].node_spans = spans;
	}

	*nr_packages = 0;
	shard_rec_sort(rec, n, by_package);
	for (begin = 0; begin < n; begin = end, ++*nr_packages) {
		const struct shard_rec *spanning = NULL;
		bool spans = false;

		for (end = begin; end < n && rec[end].package == rec[begin].package; end++) {
			spans |= rec[end].node != rec[begin].node;
			if (rec[end].node_spans)
				spanning = &rec[end];
		}
		if (spans && spanning)
			return fail(SHARD_PLAN_CYCLIC, spanning, bad_cpu);
	}
	return SHARD_PLAN_OK;
}

/* All or nothing for each id, then the lowest level that is known everywhere. */
static enum shard_plan_level choose_level(struct shard_rec *rec, u32 n)
{
	bool package = true, node = true, llc = true, l2 = true;

	for (u32 i = 0; i < n; i++) {
		package &= rec[i].package >= 0;
		node &= rec[i].node >= 0;
		llc &= rec[i].llc >= 0;
		l2 &= rec[i].l2 >= 0;
	}
	for (u32 i = 0; i < n; i++) {
		if (!package)
			rec[i].package = -1;
		if (!node)
			rec[i].node = -1;
		if (!l2)
			rec[i].l2 = -1;
		if (!llc)
			rec[i].llc = node ? rec[i].node : package ? rec[i].package : 0;
	}
	return llc	 ? SHARD_LEVEL_LLC
	       : node	 ? SHARD_LEVEL_NODE
	       : package ? SHARD_LEVEL_PACKAGE
			 : SHARD_LEVEL_ALL;
}

enum shard_plan_err shard_plan_check(struct shard_rec *rec, u32 n, enum shard_plan_level *level,
				     u32 *nr_nodes, u32 *nr_packages, u32 *bad_cpu)
{
	enum shard_plan_err err;

	*level = choose_level(rec, n);
	err = check_nodes(rec, n, nr_nodes, nr_packages, bad_cpu);
	if (!err && *level == SHARD_LEVEL_LLC)
		err = check_llcs(rec, n, bad_cpu);
	if (!err)
		err = check_caches(rec, n, bad_cpu);
	return err;
}
