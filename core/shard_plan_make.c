// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * After a sort by (package, node, LLC, L2, core), the records of a package are a range, and so are
 * those of a package and node, and so on. shard_plan_cut() cuts an LLC, or its part in a node,
 * between units. A unit is an L2 cluster that fits a shard, else a core that does, else one CPU. No
 * unit exceeds the cap, so no shard does. A shard ends at its fair share of the rest of the LLC. If
 * that point is inside a unit, the shard ends after the unit if the unit fits, else before the
 * unit. So sizes differ by about one unit.
 *
 * A second sort orders each shard's records by CPU number. Consecutive numbers form a run, so no
 * other order has fewer runs. A record's index is its place in the array, and its position is the
 * distance from the shard's first record.
 *
 * The plan is one block of memory: the struct, then the tables, each on separate lines.
 */
#include "shard_plan_make.h"
#include "shard_lines.h"
#include "shard_mask.h"

int shard_rec_by_topology(const void *a, const void *b)
{
	const struct shard_rec *x = (const struct shard_rec *)a, *y = (const struct shard_rec *)b;

	for (u32 level = 0; level < SHARD_AT_LEVELS; level++)
		if (x->at[level] != y->at[level])
			return x->at[level] < y->at[level] ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static int by_position(const void *a, const void *b)
{
	const struct shard_rec *x = (const struct shard_rec *)a, *y = (const struct shard_rec *)b;

	if (x->shard != y->shard)
		return x->shard < y->shard ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* The end, near @at, of a shard that begins at @from, in the LLC from @begin to @end. */
static u32 shard_end(const struct shard_rec *rec, u32 from, u32 at, u32 begin, u32 end, u32 cap)
{
	for (u32 level = SHARD_AT_L2; at < end && level <= SHARD_AT_CORE; level++) {
		u32 first = at, last = at + 1;

		while (first > begin && shard_rec_share(&rec[first - 1], &rec[at], level))
			first--;
		while (last < end && shard_rec_share(&rec[last], &rec[at], level))
			last++;
		if (first == at)
			return at;
		if (last - first <= cap)
			return last - from <= cap ? last : first;
	}
	return at;
}

/* Cut the records from @begin to @end, of one LLC, into shards numbered from @shard on. */
static u32 cut(struct shard_rec *rec, u32 begin, u32 end, u32 cap, u32 shard)
{
	for (u32 i = begin; i < end; shard++) {
		u32 left = end - i, shards = (left + cap - 1) / cap;
		u32 share = (left + shards - 1) / shards;

		for (u32 e = shard_end(rec, i, i + share, begin, end, cap); i < e; i++)
			rec[i].shard = shard;
	}
	return shard;
}

/* Are both in one LLC, or with @core in one known core? */
static bool together(const struct shard_rec *a, const struct shard_rec *b, bool core)
{
	if (!core)
		return shard_rec_agree(a, b, SHARD_AT_LLC + 1);
	return shard_rec_agree(a, b, SHARD_AT_CORE) && shard_rec_share(a, b, SHARD_AT_CORE);
}

u32 shard_plan_cut(struct shard_rec *rec, u32 n, u32 cap, bool cores)
{
	u32 begin, end, llc_nr = 0, shard = 0;

	shard_rec_sort(rec, n, shard_rec_by_topology);
	for (begin = 0; begin < n; begin = end) {
		if (begin && !shard_rec_agree(&rec[begin - 1], &rec[begin], SHARD_AT_LLC + 1))
			llc_nr++;
		rec[begin].llc_nr = llc_nr;
		for (end = begin + 1; end < n && together(&rec[begin], &rec[end], cores); end++)
			rec[end].llc_nr = llc_nr;
		shard = cut(rec, begin, end, cap, shard);
	}
	shard_rec_sort(rec, n, by_position);
	return shard;
}

/* Does record @i continue the run of record @i - 1? The end of a mask's word ends it. */
static bool continues_run(const struct shard_rec *rec, u32 i)
{
	return i && rec[i].shard == rec[i - 1].shard && rec[i].cpu == rec[i - 1].cpu + 1 &&
	       rec[i].cpu % SHARD_MASK_BITS;
}

/* Add larger surroundings of a shard; skip a span that is no larger than the last. */
static void add_near(struct shard *shard, struct shard_span span)
{
	u32 n = shard->nr_near;
	u32 before = n ? shard->near[n - 1].last - shard->near[n - 1].first : 0;

	if ((u32)(span.last - span.first) > before)
		shard->near[shard->nr_near++] = span;
}

/* For all shards that agree in the first @levels levels, add their common range to @near. */
static void fill_near(struct shard *shard, u32 nr, const struct shard_rec *rec, u32 levels)
{
	u32 begin, end;

	for (begin = 0; begin < nr; begin = end) {
		const struct shard_rec *first = &rec[shard[begin].first_idx];

		end = begin + 1;
		while (end < nr && shard_rec_agree(first, &rec[shard[end].first_idx], levels))
			end++;
		for (u32 s = begin; s < end; s++)
			add_near(&shard[s], (struct shard_span){ (u16)begin, (u16)(end - 1) });
	}
}

/* The tables of a plan during the fill. */
struct tables {
	struct shard_slot *slot;
	struct shard_close *close;
	u32 *idx_to_cpu;
	const u32 **shard_cpus;
	struct shard *shard;
	struct shard_run *run;
};

/* Record which CPUs before @rec in its shard are close to its CPU, in both directions. */
static void fill_close(struct shard_close *close, const struct shard_rec *rec, u32 pos)
{
	struct shard_close *own = &close[rec->cpu];
	u64 bit = 1ull << pos;

	*own = (struct shard_close){ bit, bit };
	for (u32 back = 1; back <= pos; back++) {
		const struct shard_rec *other = rec - back;
		bool l2 = shard_rec_share(rec, other, SHARD_AT_L2);
		bool core = shard_rec_agree(rec, other, SHARD_AT_CORE) &&
			    shard_rec_share(rec, other, SHARD_AT_CORE);

		if (!l2 && !core)
			continue;
		own->l2 |= bit >> back;
		close[other->cpu].l2 |= bit;
		if (!core)
			continue;
		own->core |= bit >> back;
		close[other->cpu].core |= bit;
	}
}

static void fill_tables(const struct tables *t, const struct shard_rec *rec, u32 n)
{
	struct shard_run *run = t->run - 1;

	for (u32 i = 0; i < n; i++) {
		struct shard *s = &t->shard[rec[i].shard];
		u32 pos = s->nr_cpus++, cpu = rec[i].cpu;
		u64 bit = 1ull << pos;

		if (!pos) {
			t->shard_cpus[rec[i].shard] = t->idx_to_cpu + i;
			s->first_idx = i;
			s->run = run + 1;
			s->node = rec[i].at[SHARD_AT_NODE];
			s->package = rec[i].at[SHARD_AT_PACKAGE];
			s->llc = rec[i].llc_nr;
		}
		s->valid |= bit;
		fill_close(t->close, &rec[i], pos);
		t->idx_to_cpu[i] = cpu;
		t->slot[cpu] = (struct shard_slot){ i, (u16)rec[i].shard, (u8)pos, 1 };
		if (!continues_run(rec, i)) {
			run++;
			run->word = cpu / SHARD_MASK_BITS;
			run->turn = (u8)((cpu % SHARD_MASK_BITS - pos) % 64);
			s->end_run = run + 1;
		}
		run->positions |= bit;
	}
	for (u32 levels = SHARD_AT_LLC + 2; levels-- > 0;)
		fill_near(t->shard, rec[n - 1].shard + 1, rec, levels);
}

struct shard_plan *shard_plan_make(const struct shard_plan *head, const struct shard_rec *rec)
{
	u32 n = head->nr_possible, nr_shards = rec[n - 1].shard + 1, nr_runs = 0;
	struct shard_plan *plan;
	size_t bytes = 0, at[7];
	struct tables t;
	char *block;

	for (u32 i = 0; i < n; i++)
		nr_runs += !continues_run(rec, i);
	const size_t size[] = {
		sizeof(*plan),
		head->nr_cpus * sizeof(*t.slot),
		n * sizeof(*t.idx_to_cpu),
		nr_shards * sizeof(*t.shard_cpus),
		nr_shards * sizeof(*t.shard),
		nr_runs * sizeof(*t.run),
		head->nr_cpus * sizeof(*t.close),
	};
	for (u32 i = 0; i < 7; i++) {
		at[i] = bytes;
		bytes += shard_whole_lines(size[i]);
	}
	block = (char *)port_alloc(bytes, -1);
	if (!block)
		return NULL;
	t.slot = (struct shard_slot *)(block + at[1]);
	t.idx_to_cpu = (u32 *)(block + at[2]);
	t.shard_cpus = (const u32 **)(block + at[3]);
	t.shard = (struct shard *)(block + at[4]);
	t.run = (struct shard_run *)(block + at[5]);
	t.close = (struct shard_close *)(block + at[6]);
	fill_tables(&t, rec, n);

	plan = (struct shard_plan *)block;
	*plan = *head;
	plan->slot = t.slot;
	plan->close = t.close;
	plan->idx_to_cpu = t.idx_to_cpu;
	plan->shard_cpus = t.shard_cpus;
	plan->shard = t.shard;
	plan->nr_shards = nr_shards;
	plan->nr_llcs = rec[n - 1].llc_nr + 1;
	plan->nr_runs = nr_runs;
	plan->bytes = bytes;
	return plan;
}
