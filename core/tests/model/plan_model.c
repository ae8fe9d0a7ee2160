// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Checks the properties of every plan CPU by CPU against its topology, for all shapes and for
 * random machines. Some random machines are impossible: shard_plan_build() must refuse them for a
 * reason that the test confirms by looking at all pairs of CPUs.
 */
#include "shapes.h"
#include "test.h"

static bool same_core(const struct shard_cpu *a, const struct shard_cpu *b)
{
	return a->core >= 0 && a->core == b->core;
}

/* Slots, indices, positions and shards agree about every CPU. */
static void check_maps(const struct shard_plan *plan, const struct shard_cpu *cpu)
{
	u32 possible = 0, idx = 0;

	for (u32 c = 0; c < plan->nr_cpus; c++) {
		const struct shard_slot *slot = &plan->slot[c];

		CHECK_EQ(shard_plan_has_cpu(plan, c), cpu[c].possible);
		if (!cpu[c].possible)
			continue;
		possible++;
		CHECK_EQ(plan->idx_to_cpu[slot->idx], c);
		CHECK(slot->shard < plan->nr_shards);
		CHECK_EQ(plan->shard[slot->shard].first_idx + slot->pos, slot->idx);
		CHECK(plan->shard[slot->shard].valid >> slot->pos & 1);
	}
	CHECK_EQ(plan->nr_possible, possible);
	for (u32 s = 0; s < plan->nr_shards; s++) {
		CHECK_EQ(plan->shard[s].first_idx, idx);
		CHECK(plan->shard[s].nr_cpus >= 1);
		CHECK(plan->shard[s].nr_cpus <= plan->cap);
		CHECK_EQ(port_popcount64(plan->shard[s].valid), plan->shard[s].nr_cpus);
		idx += plan->shard[s].nr_cpus;
	}
	CHECK_EQ(idx, possible);
}

/* CPUs of one shard share what they must. */
static void check_shards(const struct shard_plan *plan, const struct shard_cpu *cpu)
{
	for (u32 i = 0; i < plan->nr_possible; i++) {
		u32 a = plan->idx_to_cpu[i];
		const struct shard *s = &plan->shard[plan->slot[a].shard];
		u32 end = s->first_idx + s->nr_cpus;

		CHECK(s->node == -1 || s->node == cpu[a].node);
		CHECK(s->package == -1 || s->package == cpu[a].package);
		for (u32 j = s->first_idx; j < end; j++) {
			u32 b = plan->idx_to_cpu[j];

			if (plan->level == SHARD_LEVEL_LLC)
				CHECK_EQ(cpu[a].llc, cpu[b].llc);
			if (j > i)
				CHECK(a < b); /* in order, which makes the fewest runs */
		}
	}
}

/* The siblings of a core; @first is one of them. */
struct core {
	u32 nr, first;
	bool apart;
};

/* Siblings are in one shard if possible. */
static void check_siblings(const struct shard_plan *plan, const struct shard_cpu *cpu)
{
	struct core *core;
	s32 most = -1;

	for (u32 i = 0; i < plan->nr_possible; i++)
		if (cpu[plan->idx_to_cpu[i]].core > most)
			most = cpu[plan->idx_to_cpu[i]].core;
	core = calloc((u32)most + 2, sizeof(*core));
	if (!core)
		test_fail(__FILE__, __LINE__, "no memory");
	for (u32 i = 0; i < plan->nr_possible; i++) {
		u32 a = plan->idx_to_cpu[i];
		struct core *own;

		if (cpu[a].core < 0)
			continue; /* without a known core */
		own = &core[cpu[a].core];
		if (!own->nr++)
			own->first = a;
		own->apart |= plan->slot[own->first].shard != plan->slot[a].shard;
	}
	for (s32 i = 0; i <= most; i++)
		CHECK(!core[i].apart || core[i].nr > plan->cap);
	free(core);
}

/* With the option for cores, CPUs of one shard belong to one core. */
static void check_cores(const struct shard_plan *plan, const struct shard_cpu *cpu)
{
	for (u32 s = 0; s < plan->nr_shards; s++) {
		const struct shard *shard = &plan->shard[s];
		const struct shard_cpu *first = &cpu[plan->idx_to_cpu[shard->first_idx]];

		for (u32 pos = 1; pos < shard->nr_cpus; pos++)
			CHECK(same_core(first, &cpu[plan->idx_to_cpu[shard->first_idx + pos]]));
	}
}

/* The CPUs that a plan calls close share a core or an L2, and the shard. */
static void check_close(const struct shard_plan *plan, const struct shard_cpu *cpu)
{
	bool l2_known = true;

	for (u32 c = 0; c < plan->nr_cpus; c++)
		l2_known &= !cpu[c].possible || cpu[c].l2 >= 0;
	for (u32 i = 0; i < plan->nr_possible; i++) {
		u32 a = plan->idx_to_cpu[i];
		const struct shard *s = &plan->shard[plan->slot[a].shard];
		u64 core = 0, l2 = 0;

		for (u32 pos = 0; pos < s->nr_cpus; pos++) {
			u32 b = plan->idx_to_cpu[s->first_idx + pos];
			bool sibling = a == b || same_core(&cpu[a], &cpu[b]);

			core |= (u64)sibling << pos;
			l2 |= (u64)(sibling || (l2_known && cpu[a].l2 == cpu[b].l2)) << pos;
		}
		CHECK_EQ(plan->close[a].core, (s64)core);
		CHECK_EQ(plan->close[a].l2, (s64)l2);
	}
}

/* Index order is topology order: package, then node, then LLC never go back. */
static void check_order(const struct shard_plan *plan)
{
	u32 llc = 0;

	for (u32 s = 0; s < plan->nr_shards; s++) {
		const struct shard *a = &plan->shard[s], *b = a + 1;

		CHECK(a->llc == llc || a->llc == llc + 1);
		llc = a->llc;
		if (s + 1 == plan->nr_shards)
			break;
		CHECK(a->package <= b->package);
		CHECK(a->package < b->package || a->node <= b->node);
	}
	CHECK_EQ(plan->nr_llcs, llc + 1);
}

/* Gather and scatter against a look at each CPU. */
static void check_masks(const struct shard_plan *plan, u64 *random)
{
	static unsigned long mask[TEST_MAX_WORDS], back[TEST_MAX_WORDS], expect[TEST_MAX_WORDS];
	u32 density = test_below(random, 4);

	memset(mask, 0, sizeof(mask));
	memset(back, 0, sizeof(back));
	memset(expect, 0, sizeof(expect));
	for (u32 c = 0; c < plan->nr_cpus; c++) /* also holes, which must be ignored */
		if (density == 3 || test_below(random, 4) < density)
			test_set_bit(mask, c);
	for (u32 s = 0; s < plan->nr_shards; s++) {
		u64 word = 0;

		for (u32 pos = 0; pos < plan->shard[s].nr_cpus; pos++) {
			u32 c = plan->idx_to_cpu[plan->shard[s].first_idx + pos];

			if (test_bit(mask, c)) {
				word |= 1ull << pos;
				test_set_bit(expect, c);
			}
		}
		CHECK_EQ(shard_gather(plan, s, mask), word);
		shard_scatter(plan, s, word | ~plan->shard[s].valid, back);
	}
	CHECK_MASK_EQ(back, expect, plan->nr_cpus);
}

static u32 distance(const struct shard_plan *plan, u32 a, u32 b)
{
	const struct shard *x = &plan->shard[a], *y = &plan->shard[b];

	if (a == b)
		return 0;
	if (x->llc == y->llc)
		return 1;
	if (x->package == y->package)
		return x->node == y->node ? 2 : 3;
	return 4;
}

/* A walk visits every shard once, never a nearer one after a farther one, in order of ranks. */
static void check_near(const struct shard_plan *plan, u64 *random)
{
	u32 cpu = plan->idx_to_cpu[test_below(random, plan->nr_possible)];
	u32 own = plan->slot[cpu].shard, n = 0, last_distance = 0;
	struct shard_near_iter it;
	u64 last_rank = 0;
	u32 s = shard_near_begin(&it, plan, cpu);
	bool *seen = calloc(plan->nr_shards, sizeof(*seen));

	CHECK(seen);
	CHECK_EQ(s, own);
	do {
		u64 rank = shard_near_rank(plan, own, s);

		CHECK(s < plan->nr_shards);
		CHECK(!seen[s]);
		seen[s] = true;
		CHECK(n == 0 ? rank == 0 : rank > last_rank);
		CHECK(distance(plan, own, s) >= last_distance);
		last_rank = rank;
		last_distance = distance(plan, own, s);
		n++;
	} while (shard_near_next(&it, &s));
	CHECK_EQ(n, plan->nr_shards);
	free(seen);
}

static void check_plan(const struct shard_plan *plan, const struct shard_cpu *cpu, u64 *random)
{
	check_maps(plan, cpu);
	check_shards(plan, cpu);
	check_siblings(plan, cpu);
	check_close(plan, cpu);
	check_order(plan);
	for (int i = 0; i < 8; i++) {
		check_masks(plan, random);
		check_near(plan, random);
	}
}

/* Each shape, with its own options, and with a line per core. */
static void every_shape(void)
{
	static const struct shard_plan_opts cores = { .cap = 2, .cores = true };
	u64 random = test_state.start;
	struct shard_topo topo;

	test_state.seed = test_state.start;
	for (u32 i = 0; i < nr_shapes; i++) {
		u32 nr_cpus;
		struct shard_cpu *cpu = shape_cpus(&shapes[i], &nr_cpus);
		struct shard_plan *plan = shape_plan(&shapes[i]);

		test_state.shape = shapes[i].name;
		CHECK_EQ(plan->nr_cpus, nr_cpus);
		check_plan(plan, cpu, &random);
		shard_plan_free(plan);
		topo.cpu = cpu;
		topo.nr_cpus = nr_cpus;
		CHECK_EQ(shard_plan_build(&plan, &topo, &cores), SHARD_PLAN_OK);
		check_plan(plan, cpu, &random);
		check_cores(plan, cpu);
		shard_plan_free(plan);
		free(cpu);
	}
	test_state.shape = NULL;
}

/* Makes a random machine; if @levels are independent it mostly contradicts itself. */
static void random_cpus(struct shard_cpu *cpu, u32 nr_cpus, u64 *random)
{
	u32 per_core = 1 + test_below(random, 3), per_l2 = per_core * (1 + test_below(random, 4));
	u32 per_llc = per_l2 * (1 + test_below(random, 6)), per_node = 1 + test_below(random, 60);
	u32 per_package = per_llc * (1 + test_below(random, 3));
	bool shuffle = test_below(random, 2);

	if (test_below(random, 3))
		per_node = per_llc;
	for (u32 i = 0; i < nr_cpus; i++) {
		cpu[i].package = (s32)(i / per_package);
		cpu[i].node = (s32)(i / per_node);
		cpu[i].llc = (s32)(i / per_llc);
		cpu[i].l2 = (s32)(i / per_l2);
		cpu[i].core = (s32)(i / per_core);
		cpu[i].thread = (s32)test_below(random, 3);
		cpu[i].possible = test_below(random, 8);
		if (!test_below(random, 2000))
			cpu[i].llc = -1;
	}
	for (u32 i = nr_cpus; shuffle && i-- > 1;) {
		u32 j = test_below(random, i + 1);
		struct shard_cpu c = cpu[i];

		cpu[i] = cpu[j];
		cpu[j] = c;
	}
}

/* Is there a CPU pair that proves @err? Levels that fell back are checked by unit tests. */
static bool confirmed(enum shard_plan_err err, const struct shard_cpu *cpu, u32 nr_cpus)
{
	bool node_spans = false, package_spans = false, any = false;

	for (u32 i = 0; i < nr_cpus; i++)
		for (u32 j = 0; j < nr_cpus; j++) {
			const struct shard_cpu *a = &cpu[i], *b = &cpu[j];

			if (!a->possible || !b->possible)
				continue;
			any = true;
			node_spans |= a->node == b->node && a->package != b->package;
			package_spans |= a->package == b->package && a->node != b->node;
			if (err == SHARD_PLAN_CORE_SPANS_LLCS && a->core == b->core &&
			    (a->llc != b->llc || a->node != b->node || a->l2 != b->l2))
				return true;
			if (err == SHARD_PLAN_L2_SPANS_LLCS && a->l2 == b->l2 &&
			    (a->llc != b->llc || a->node != b->node))
				return true;
			if (err == SHARD_PLAN_LLC_SPANS_PACKAGES && a->llc == b->llc &&
			    a->package != b->package)
				return true;
		}
	if (err == SHARD_PLAN_CYCLIC)
		return node_spans && package_spans;
	return err == SHARD_PLAN_NO_POSSIBLE && !any;
}

static void random_machines(void)
{
	static struct shard_cpu cpu[300];
	u64 random = test_state.start;
	u32 built = 0;

	test_state.seed = test_state.start;
	for (test_state.step = 0; test_state.step < 3000; test_state.step++) {
		u32 nr_cpus = 1 + test_below(&random, 300);
		struct shard_topo topo = { nr_cpus, cpu };
		struct shard_plan_opts opts = { 0 };
		struct shard_plan *plan;
		enum shard_plan_err err;

		if (test_below(&random, 2))
			opts.cap = 1 + test_below(&random, 64);
		if (!test_below(&random, 3))
			opts.split_llc = test_below(&random, 9);
		opts.cores = !test_below(&random, 3);
		random_cpus(cpu, nr_cpus, &random);
		err = shard_plan_build(&plan, &topo, &opts);
		if (err) {
			if (!confirmed(err, cpu, nr_cpus))
				test_fail(__FILE__, __LINE__, "refused without reason: %s",
					  shard_plan_strerror(err));
			continue;
		}
		check_plan(plan, cpu, &random);
		if (opts.cores)
			check_cores(plan, cpu);
		shard_plan_free(plan);
		built++;
	}
	CHECK(built > 3000 / 10);
	test_state.step = 0;
}

#define TESTS(TEST)       \
	TEST(every_shape) \
	TEST(random_machines)

TEST_MAIN(plan_model, TESTS)
