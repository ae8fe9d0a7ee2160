// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Checks that the levels of a topology are nested.
 *
 * shard_plan_cut() sorts by (package, node, LLC, L2, core) and treats equal neighbours as one
 * group. That is correct if each group lies within one group of the level above. So the check goes
 * level by level. It sorts by the level's id, because all records with one id must agree in the
 * levels above. The sort places them side by side, and agreement is transitive, so only neighbours
 * are compared.
 *
 * Real machines have two exceptions. First, a node may have several packages (NUMA off), instead of
 * a package several nodes. But if a node spans two packages, one of which spans two nodes, neither
 * order is right. Second, an LLC may span several nodes (sub-NUMA clustering). So the cut treats
 * each (package, node, LLC) as one LLC, and cuts the LLC between nodes.
 */
#include "shard_topo_check.h"

/* By @llc_nr, then CPU number, so that the reported CPU does not depend on the sort. */
static int by_key(const void *a, const void *b)
{
	const struct shard_rec *x = (const struct shard_rec *)a, *y = (const struct shard_rec *)b;

	if (x->llc_nr != y->llc_nr)
		return x->llc_nr < y->llc_nr ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* @llc_nr is not in use yet, and serves as the sort key here. Any order of ids will do. */
static void sort_by(struct shard_rec *rec, u32 n, enum shard_at level)
{
	for (u32 i = 0; i < n; i++)
		rec[i].llc_nr = (u32)rec[i].at[level];
	shard_rec_sort(rec, n, by_key);
}

static bool same(const struct shard_rec *a, const struct shard_rec *b, enum shard_at level)
{
	return a->at[level] == b->at[level];
}

static enum shard_plan_err fail(enum shard_plan_err err, const struct shard_rec *rec, u32 *bad_cpu)
{
	if (bad_cpu)
		*bad_cpu = rec->cpu;
	return err;
}

/* Return @err unless CPUs with the same known id at @level agree in the first @above levels. */
static enum shard_plan_err check_level(struct shard_rec *rec, u32 n, enum shard_at level, u32 above,
				       enum shard_plan_err err, u32 *bad_cpu)
{
	sort_by(rec, n, level);
	for (u32 i = 1; i < n; i++)
		if (shard_rec_share(&rec[i - 1], &rec[i], level) &&
		    !shard_rec_agree(&rec[i - 1], &rec[i], above))
			return fail(err, &rec[i], bad_cpu);
	return SHARD_PLAN_OK;
}

/* @shard is not in use yet: here it is 1 for a CPU whose node is in several packages. */
static enum shard_plan_err check_nodes(struct shard_rec *rec, u32 n, struct shard_plan *head,
				       u32 *bad_cpu)
{
	u32 begin, end;

	sort_by(rec, n, SHARD_AT_NODE);
	for (begin = 0; begin < n; begin = end, head->nr_nodes++) {
		u32 spans = 0;

		for (end = begin; end < n && same(&rec[end], &rec[begin], SHARD_AT_NODE); end++)
			spans |= !same(&rec[end], &rec[begin], SHARD_AT_PACKAGE);
		for (u32 i = begin; i < end; i++)
			rec[i].shard = spans;
	}

	sort_by(rec, n, SHARD_AT_PACKAGE);
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

/* Make each id known for all CPUs or for none, then return the lowest level that is known. */
static enum shard_plan_level choose_level(struct shard_rec *rec, u32 n)
{
	bool known[SHARD_AT_CORE];
	s32 level = SHARD_AT_LLC;

	for (u32 at = 0; at < SHARD_AT_CORE; at++) {
		known[at] = true;
		for (u32 i = 0; i < n; i++)
			known[at] &= rec[i].at[at] >= 0;
		for (u32 i = 0; !known[at] && i < n; i++)
			rec[i].at[at] = -1;
	}
	while (level >= 0 && !known[level])
		level--;
	for (u32 i = 0; i < n; i++)
		rec[i].at[SHARD_AT_LLC] = level < 0 ? 0 : rec[i].at[level];
	return (enum shard_plan_level)(SHARD_AT_LLC - level);
}

enum shard_plan_err shard_topo_check(struct shard_rec *rec, u32 n, struct shard_plan *head,
				     u32 *bad_cpu)
{
	enum shard_plan_err err;

	head->level = choose_level(rec, n);
	err = check_nodes(rec, n, head, bad_cpu);
	/* If a node or the machine serves as LLC, it may contain several packages. */
	if (!err && head->level == SHARD_LEVEL_LLC)
		err = check_level(rec, n, SHARD_AT_LLC, SHARD_AT_PACKAGE + 1,
				  SHARD_PLAN_LLC_SPANS_PACKAGES, bad_cpu);
	if (!err)
		err = check_level(rec, n, SHARD_AT_CORE, SHARD_AT_CORE, SHARD_PLAN_CORE_SPANS_LLCS,
				  bad_cpu);
	if (!err)
		err = check_level(rec, n, SHARD_AT_L2, SHARD_AT_L2, SHARD_PLAN_L2_SPANS_LLCS,
				  bad_cpu);
	return err;
}
