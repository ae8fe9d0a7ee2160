// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Cutting a machine into shards.
 *
 * 1. shard_plan_check() makes sure that sorting by (package, node, LLC, L2, core) keeps
 *    each group together. In that order an LLC, or the part of one in a node, is a range.
 * 2. Each range is cut into pieces (split_llc) between cores, each piece into shards
 *    between units, where a unit is an L2 cluster that fits a shard, else a core that
 *    does, else one CPU. Every cut falls between two units, so a unit is never divided,
 *    and units never exceed the cap, so a shard never does. A shard takes units until it
 *    has its fair share of what is left of the piece, or the next would exceed the cap: the
 *    sizes then differ by about one unit.
 * 3. Within a shard the records are sorted by CPU number: consecutive numbers are a run, so
 *    that no other order has fewer. The place of a record in the whole array is its index,
 *    the distance from the shard's first record is its position. All tables follow from one
 *    pass over that.
 *
 * The plan is one block of memory, the tables behind the struct, each on a line of its
 * own: it is read by every CPU and never written again.
 */
#include "shard_plan.h"
#include "shard_mask.h"
#include "shard_plan_internal.h"

static bool by_topology(const struct shard_rec *a, const struct shard_rec *b)
{
	if (a->package != b->package)
		return a->package < b->package;
	if (a->node != b->node)
		return a->node < b->node;
	if (a->llc != b->llc)
		return a->llc < b->llc;
	if (a->l2 != b->l2)
		return a->l2 < b->l2;
	if (a->core != b->core)
		return a->core < b->core;
	if (a->thread != b->thread)
		return a->thread < b->thread;
	return a->cpu < b->cpu;
}

static bool by_position(const struct shard_rec *a, const struct shard_rec *b)
{
	if (a->shard != b->shard)
		return a->shard < b->shard;
	return a->cpu < b->cpu;
}

static bool same_llc(const struct shard_rec *a, const struct shard_rec *b)
{
	return a->package == b->package && a->node == b->node && a->llc == b->llc;
}

/* End of the core that starts at @i. */
static u32 core_end(const struct shard_rec *rec, u32 i, u32 end)
{
	u32 e = i + 1;

	while (e < end && shard_rec_same_core(&rec[i], &rec[e]))
		e++;
	return e;
}

/* End of the L2 cluster that starts at @i; of the core when the L2 is unknown. */
static u32 cluster_end(const struct shard_rec *rec, u32 i, u32 end)
{
	u32 e = i + 1;

	if (rec[i].l2 < 0)
		return core_end(rec, i, end);
	while (e < end && rec[e].l2 == rec[i].l2)
		e++;
	return e;
}

/*
 * Where to cut: the cluster and the core that the cutting is in. They are found when it
 * enters them: judged from the middle, the rest of one that does not fit might.
 */
struct cutter {
	u32 cap;
	u32 cluster_end, core_end;
	bool cluster_fits, core_fits;
};

/* Size of the unit that starts at @i. */
static u32 unit_size(struct cutter *c, const struct shard_rec *rec, u32 i, u32 end)
{
	if (i >= c->cluster_end) {
		c->cluster_end = cluster_end(rec, i, end);
		c->cluster_fits = c->cluster_end - i <= c->cap;
	}
	if (c->cluster_fits)
		return c->cluster_end - i;
	if (i >= c->core_end) {
		c->core_end = core_end(rec, i, end);
		c->core_fits = c->core_end - i <= c->cap;
	}
	return c->core_fits ? c->core_end - i : 1;
}

/* Cut one piece; @shard is the number of its first shard. Returns that of the next piece. */
static u32 cut_piece(struct shard_rec *rec, u32 begin, u32 end, u32 cap, u32 llc_nr, u32 shard)
{
	struct cutter c = { cap, 0, 0, false, false };
	u32 i = begin;

	while (i < end) {
		u32 parts = (end - i + cap - 1) / cap;
		u32 share = (end - i + parts - 1) / parts;
		u32 size = 0;

		while (i < end && size < share) {
			u32 unit = unit_size(&c, rec, i, end);

			if (size + unit > cap)
				break;
			size += unit;
			for (; unit; unit--, i++) {
				rec[i].llc_nr = llc_nr;
				rec[i].shard = shard;
			}
		}
		shard++;
	}
	return shard;
}

static u32 count_cores(const struct shard_rec *rec, u32 begin, u32 end)
{
	u32 cores = 0;

	for (u32 i = begin; i < end; i = core_end(rec, i, end))
		cores++;
	return cores;
}

/* Cut one LLC into pieces, between cores. */
static void cut_llc(struct shard_rec *rec, u32 begin, u32 end, const struct shard_plan *plan,
		    u32 *llc_nr, u32 *shard)
{
	u32 cores = count_cores(rec, begin, end);
	u32 pieces = plan->split_llc < cores ? plan->split_llc : cores;
	u32 done = 0, i = begin;

	if (!pieces)
		pieces = 1;
	for (u32 piece = 0; piece < pieces; piece++) {
		u32 first = i;

		while (done < (u64)cores * (piece + 1) / pieces) {
			i = core_end(rec, i, end);
			done++;
		}
		*shard = cut_piece(rec, first, i, plan->cap, (*llc_nr)++, *shard);
	}
}

static void cut_machine(struct shard_rec *rec, u32 n, struct shard_plan *plan)
{
	u32 begin, end, llc_nr = 0, shard = 0;

	shard_rec_sort(rec, n, by_topology);
	for (begin = 0; begin < n; begin = end) {
		end = begin + 1;
		while (end < n && same_llc(&rec[begin], &rec[end]))
			end++;
		cut_llc(rec, begin, end, plan, &llc_nr, &shard);
	}
	shard_rec_sort(rec, n, by_position);
	plan->nr_llcs = llc_nr;
	plan->nr_shards = shard;
}

/* Does record @i go on with the run of record @i - 1? A word of a mask ends it. */
static bool continues_run(const struct shard_rec *rec, u32 i)
{
	return i && rec[i].shard == rec[i - 1].shard && rec[i].cpu == rec[i - 1].cpu + 1 &&
	       rec[i].cpu % 64;
}

/* How much shards must have in common: the surroundings of a shard, each within the next. */
enum near_level {
	NEAR_LLC,
	NEAR_NODE, /* and package: a node may span packages */
	NEAR_PACKAGE,
	NEAR_MACHINE,
};

static_assert(NEAR_MACHINE + 1 == SHARD_NEAR_LEVELS, "room for each");

/* Larger surroundings of a shard than those before; the same again is nothing new. */
static void add_near(struct shard *shard, struct shard_span span)
{
	u32 n = shard->nr_near;
	u32 before = n ? shard->near[n - 1].last - shard->near[n - 1].first : 0;

	if ((u32)(span.last - span.first) > before)
		shard->near[shard->nr_near++] = span;
}

/* Let all shards that agree with each other about @level know their range. */
static void fill_near(struct shard *shard, u32 nr, enum near_level level)
{
	u32 begin, end;

	for (begin = 0; begin < nr; begin = end) {
		const struct shard *a = &shard[begin];

		for (end = begin + 1; end < nr; end++) {
			const struct shard *b = &shard[end];

			if ((level < NEAR_MACHINE && a->package != b->package) ||
			    (level < NEAR_PACKAGE && a->node != b->node) ||
			    (level < NEAR_NODE && a->llc != b->llc))
				break;
		}
		for (u32 s = begin; s < end; s++)
			add_near(&shard[s], (struct shard_span){ (u16)begin, (u16)(end - 1) });
	}
}

struct tables {
	struct shard_slot *slot;
	u64 *bit;
	u32 *idx_to_cpu;
	const u32 **shard_cpus;
	struct shard *shard;
	struct shard_run *run;
};

static void fill_tables(const struct tables *t, const struct shard_rec *rec, u32 n, u32 nr_shards)
{
	u32 nr_runs = 0;

	for (u32 i = 0; i < n; i++) {
		struct shard *s = &t->shard[rec[i].shard];
		struct shard_slot *slot = &t->slot[rec[i].cpu];
		u32 pos;

		if (!s->nr_cpus) {
			t->shard_cpus[rec[i].shard] = t->idx_to_cpu + i;
			s->first_idx = i;
			s->run = t->run + nr_runs;
			s->node = rec[i].node;
			s->package = rec[i].package;
			s->llc = rec[i].llc_nr;
		}
		pos = i - s->first_idx;
		s->nr_cpus = pos + 1;
		/* The CPU's bit is the one that the valid ones gain. */
		t->bit[rec[i].cpu] = shard_low_bits(s->nr_cpus) ^ s->valid;
		s->valid = shard_low_bits(s->nr_cpus);

		slot->idx = i;
		slot->shard = (u16)rec[i].shard;
		slot->pos = (u8)pos;
		slot->possible = 1;
		t->idx_to_cpu[i] = rec[i].cpu;

		if (!continues_run(rec, i)) {
			t->run[nr_runs].word = (u16)(rec[i].cpu / 64);
			t->run[nr_runs].turn = (u8)((rec[i].cpu - pos) % 64);
			nr_runs++;
			s->end_run = t->run + nr_runs;
		}
		t->run[nr_runs - 1].positions |= t->bit[rec[i].cpu];
	}
	for (enum near_level level = NEAR_LLC; level <= NEAR_MACHINE; level++)
		fill_near(t->shard, nr_shards, level);
}

/* Reserve @size bytes of the plan's block, rounded up to whole lines. */
static size_t reserve(size_t *bytes, size_t size)
{
	size_t at = *bytes;

	*bytes += (size + PORT_CACHELINE - 1) / PORT_CACHELINE * PORT_CACHELINE;
	return at;
}

/* A plan like @head with its tables filled from @rec. */
static struct shard_plan *make_plan(const struct shard_plan *head, const struct shard_rec *rec)
{
	size_t bytes = 0, slot, bit, cpu, cpus, shard, run;
	struct shard_plan *plan;
	struct tables t;
	char *block;

	reserve(&bytes, sizeof(*plan));
	slot = reserve(&bytes, head->nr_cpus * sizeof(*t.slot));
	bit = reserve(&bytes, head->nr_cpus * sizeof(*t.bit));
	cpu = reserve(&bytes, head->nr_possible * sizeof(*t.idx_to_cpu));
	cpus = reserve(&bytes, head->nr_shards * sizeof(*t.shard_cpus));
	shard = reserve(&bytes, head->nr_shards * sizeof(*t.shard));
	run = reserve(&bytes, head->nr_runs * sizeof(*t.run));

	block = (char *)port_alloc(bytes, -1);
	if (!block)
		return NULL;
	t.slot = (struct shard_slot *)(block + slot);
	t.bit = (u64 *)(block + bit);
	t.idx_to_cpu = (u32 *)(block + cpu);
	t.shard_cpus = (const u32 **)(block + cpus);
	t.shard = (struct shard *)(block + shard);
	t.run = (struct shard_run *)(block + run);
	fill_tables(&t, rec, head->nr_possible, head->nr_shards);

	plan = (struct shard_plan *)block;
	*plan = *head;
	plan->slot = t.slot;
	plan->bit = t.bit;
	plan->idx_to_cpu = t.idx_to_cpu;
	plan->shard_cpus = t.shard_cpus;
	plan->shard = t.shard;
	plan->bytes = bytes;
	return plan;
}

static u32 fill_records(struct shard_rec *rec, const struct shard_topo *topo)
{
	u32 n = 0;

	for (u32 cpu = 0; cpu < topo->nr_cpus; cpu++) {
		const struct shard_cpu *c = &topo->cpu[cpu];

		if (!c->possible)
			continue;
		rec[n].package = c->package;
		rec[n].node = c->node;
		rec[n].llc = c->llc;
		rec[n].l2 = c->l2;
		rec[n].core = c->core < 0 ? -1 : c->core;
		rec[n].thread = c->thread;
		rec[n].cpu = cpu;
		n++;
	}
	return n;
}

static enum shard_plan_err build(struct shard_plan **plan, struct shard_plan *head,
				 struct shard_rec *rec, u32 *bad_cpu)
{
	enum shard_plan_err err;

	err = shard_plan_check(rec, head->nr_possible, &head->level, &head->nr_nodes,
			       &head->nr_packages, bad_cpu);
	if (err)
		return err;
	cut_machine(rec, head->nr_possible, head);
	if (head->nr_shards > SHARD_MAX_SHARDS)
		return SHARD_PLAN_TOO_MANY_SHARDS;
	for (u32 i = 0; i < head->nr_possible; i++)
		head->nr_runs += !continues_run(rec, i);
	*plan = make_plan(head, rec);
	return *plan ? SHARD_PLAN_OK : SHARD_PLAN_NO_MEMORY;
}

enum shard_plan_err shard_plan_build(struct shard_plan **plan, const struct shard_topo *topo,
				     const struct shard_plan_opts *opts)
{
	struct shard_plan head;
	enum shard_plan_err err;
	struct shard_rec *rec;
	size_t bytes;

	*plan = NULL;
	memset(&head, 0, sizeof(head));
	head.nr_cpus = topo->nr_cpus;
	head.cap = opts && opts->cap ? opts->cap : SHARD_MAX_CAP;
	head.split_llc = opts && opts->split_llc > 1 ? opts->split_llc : 0;
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
	err = head.nr_possible ? build(plan, &head, rec, opts ? opts->bad_cpu : NULL)
			       : SHARD_PLAN_NO_POSSIBLE;
	port_free(rec, bytes);
	return err;
}
