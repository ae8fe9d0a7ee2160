// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Compares plans of small machines with values found by hand, and tests which are refused. */
#include "shapes.h"
#include "shard_topo.h"
#include "test.h"

static enum shard_plan_err build(struct shard_plan **plan, const struct shard_cpu *cpu, u32 nr_cpus,
				 const struct shard_plan_opts *opts)
{
	struct shard_topo topo = { nr_cpus, cpu };

	return shard_plan_build(plan, &topo, opts);
}

static const struct shape *shape_named(const char *name)
{
	for (u32 i = 0; i < nr_shapes; i++)
		if (!strcmp(shapes[i].name, name))
			return &shapes[i];
	test_fail(__FILE__, __LINE__, "no shape %s", name);
}

static struct shard_plan *plan_named(const char *name)
{
	return shape_plan(shape_named(name));
}

/* Sizes of the shards, as "60 60 60 60". Frees the plan. */
static void check_sizes_of(struct shard_plan *plan, const char *name, const char *expected)
{
	char got[256];
	size_t len = 0;

	for (u32 s = 0; s < plan->nr_shards; s++)
		len += (size_t)snprintf(got + len, sizeof(got) - len, "%s%u", s ? " " : "",
					plan->shard[s].nr_cpus);
	if (strcmp(got, expected))
		test_fail(__FILE__, __LINE__, "%s: shards of %s CPUs, should be %s", name, got,
			  expected);
	shard_plan_free(plan);
}

static void check_sizes(const char *shape, const char *expected)
{
	check_sizes_of(plan_named(shape), shape, expected);
}

static void large_llcs_are_cut_evenly(void)
{
	check_sizes("one shard", "16");
	check_sizes("one full shard", "64");
	check_sizes("240 CPUs in one LLC", "60 60 60 60");
	check_sizes("480 CPUs in two LLCs", "60 60 60 60 60 60 60 60");
	check_sizes("cap 16", "14 12 12 12 14 12 12 12 14 12 12 12 14 12 12 12");
	check_sizes("cap 64", "50 50 50 50 50 50 50 50");
	check_sizes("cap 10, clusters of 8", "8 8 8 8 8 8 8 8");
}

static void cores_larger_than_the_cap_are_cut_into_threads(void)
{
	struct shard_plan *plan = plan_named("cores larger than the cap");

	for (u32 s = 0; s < plan->nr_shards; s++)
		CHECK(plan->shard[s].nr_cpus <= 5);
	CHECK_EQ(plan->nr_shards, 40);
	shard_plan_free(plan);
}

/* One LLC of L2 clusters of three sizes, numbered from 0 on, each CPU a core. */
static void check_clusters(const u32 *size, u32 cap, const char *expected)
{
	struct shard_plan_opts opts = { .cap = cap };
	struct shard_cpu cpu[32];
	struct shard_plan *plan;
	u32 n = 0;

	for (s32 l2 = 0; l2 < 3; l2++)
		for (u32 i = 0; i < size[l2]; i++, n++)
			cpu[n] = (struct shard_cpu){ 0, 0, 0, l2, (s32)n, 0, true };
	CHECK_EQ(build(&plan, cpu, n, &opts), SHARD_PLAN_OK);
	check_sizes_of(plan, "clusters", expected);
}

/* A cluster as large as the cap stays whole, whether a shard ends before it or after it. */
static void clusters_stay_whole(void)
{
	static const u32 as_the_cap[] = { 6, 8, 6 }, number_0[] = { 6, 4, 0 };

	check_clusters(as_the_cap, 8, "6 8 6");
	check_clusters(number_0, 8, "6 4");
}

/* Also tests core 0: its number must not count as unknown. */
static void split_llc_keeps_siblings_together(void)
{
	struct shard_plan_opts opts = { .split_llc = 2 };
	struct shard_cpu cpu[16];
	struct shard_plan *plan;

	for (s32 i = 0; i < 16; i++)
		cpu[i] = (struct shard_cpu){ 0, 0, i / 8, i / 2, i / 2, i % 2, true };
	CHECK_EQ(build(&plan, cpu, 16, &opts), SHARD_PLAN_OK);
	CHECK_EQ(plan->split_llc, 2);
	check_sizes_of(plan, "4 cores an LLC", "4 4 4 4");
	opts.split_llc = 1;
	CHECK_EQ(build(&plan, cpu, 16, &opts), SHARD_PLAN_OK);
	CHECK_EQ(plan->split_llc, 0);
	check_sizes_of(plan, "4 cores an LLC", "8 8");
}

static void split_llc_cuts_between_cores(void)
{
	check_sizes("split 4", "8 8 8 8 8 8 8 8");
	check_sizes("split 3 of 7 cores", "4 4 6 4 4 6");
	check_sizes("split more than cores", "2 2 2 2 2 2 2 2");
}

static void numbers_of_first_and_second_threads_are_two_runs(void)
{
	struct shard_plan *plan = plan_named("numbers 0-47,192-239 a node");

	CHECK_EQ(plan->nr_possible, 384);
	CHECK_EQ(plan->nr_shards, 24);
	CHECK_EQ(plan->nr_llcs, 24);
	CHECK_EQ(plan->nr_nodes, 4);
	CHECK_EQ(plan->nr_packages, 2);
	CHECK_EQ(plan->nr_runs, 48);
	CHECK_EQ(plan->slot[0].idx, 0);
	CHECK_EQ(plan->slot[7].pos, 7);
	CHECK_EQ(plan->slot[192].idx, 8);
	CHECK_EQ(plan->slot[199].pos, 15);
	CHECK_EQ(plan->slot[8].shard, 1);
	CHECK_EQ(plan->slot[383].idx, 383);
	CHECK_EQ(plan->idx_to_cpu[8], 192);
	CHECK_EQ(plan->slot[193].pos, 9);
	shard_plan_free(plan);
}

static void neighbouring_siblings_are_one_run(void)
{
	struct shard_cpu cpu[16];
	struct shard_plan *plan;

	for (s32 i = 0; i < 16; i++)
		cpu[i] = (struct shard_cpu){ 0, 0, i / 8, i / 2, i / 2, i % 2, true };
	CHECK_EQ(build(&plan, cpu, 16, NULL), SHARD_PLAN_OK);
	CHECK_EQ(plan->nr_shards, 2);
	CHECK_EQ(plan->nr_runs, 2);
	CHECK_EQ(plan->slot[9].pos, 1);
	shard_plan_free(plan);
}

static void level_falls_back(void)
{
	static const struct {
		const char *shape;
		enum shard_plan_level level;
		u32 nr_llcs;
	} cases[] = {
		{ "12 LLCs", SHARD_LEVEL_LLC, 12 },
		{ "no cache information", SHARD_LEVEL_NODE, 4 },
		{ "no cache, no nodes", SHARD_LEVEL_PACKAGE, 4 },
		{ "nothing known", SHARD_LEVEL_ALL, 1 },
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct shard_plan *plan = plan_named(cases[i].shape);

		CHECK_EQ(plan->level, cases[i].level);
		CHECK_EQ(plan->nr_llcs, cases[i].nr_llcs);
		shard_plan_free(plan);
	}
}

static void one_unknown_llc_makes_all_unknown(void)
{
	u32 nr_cpus;
	struct shard_cpu *cpu = shape_cpus(shape_named("12 LLCs"), &nr_cpus);
	struct shard_plan *plan;

	cpu[5].llc = -1;
	CHECK_EQ(build(&plan, cpu, nr_cpus, NULL), SHARD_PLAN_OK);
	CHECK_EQ(plan->level, SHARD_LEVEL_NODE);
	shard_plan_free(plan);
	/* ... unless that CPU number is a hole. */
	cpu[5].possible = false;
	CHECK_EQ(build(&plan, cpu, nr_cpus, NULL), SHARD_PLAN_OK);
	CHECK_EQ(plan->level, SHARD_LEVEL_LLC);
	CHECK(!shard_plan_has_cpu(plan, 5));
	CHECK(shard_plan_has_cpu(plan, 4));
	CHECK(!shard_plan_has_cpu(plan, nr_cpus));
	shard_plan_free(plan);
	free(cpu);
}

static void shard_never_spans_nodes(void)
{
	struct shard_plan *plan = plan_named("LLC in two nodes");

	CHECK_EQ(plan->nr_llcs, 4);
	CHECK_EQ(plan->nr_nodes, 4);
	for (u32 s = 0; s < plan->nr_shards; s++)
		CHECK_EQ(plan->shard[s].node, s / 2);
	shard_plan_free(plan);
}

static void numa_off_is_one_node_of_two_packages(void)
{
	u32 nr_cpus;
	struct shard_cpu *cpu = shape_cpus(shape_named("480 CPUs in two LLCs"), &nr_cpus);
	struct shard_plan *plan;

	for (u32 i = 0; i < nr_cpus; i++)
		cpu[i].node = 0;
	CHECK_EQ(build(&plan, cpu, nr_cpus, NULL), SHARD_PLAN_OK);
	CHECK_EQ(plan->nr_nodes, 1);
	CHECK_EQ(plan->nr_llcs, 2);
	CHECK_EQ(plan->shard[0].nr_near, 2); /* its LLC is its package, then the machine */
	CHECK_EQ(plan->shard[0].near[0].last, 3);
	CHECK_EQ(plan->shard[0].near[1].last, 7);
	shard_plan_free(plan);
	free(cpu);
}

static void walk_goes_from_near_to_far(void)
{
	/* 2 packages x 2 nodes x 2 LLCs of 12 CPUs, 6 shards per LLC. */
	struct shard_plan *plan = plan_named("cap 2");
	struct shard_near_iter it;
	u32 own = plan->nr_shards / 2 + 7; /* second LLC of the third node, second shard */
	u32 cpu = plan->idx_to_cpu[plan->shard[own].first_idx];
	u32 s = shard_near_begin(&it, plan, cpu);

	CHECK_EQ(s, 31);
	for (u32 expect = 32; expect <= 35; expect++) { /* rest of its LLC, above */
		CHECK(shard_near_next(&it, &s));
		CHECK_EQ(s, expect);
	}
	CHECK(shard_near_next(&it, &s)); /* its LLC, below */
	CHECK_EQ(s, 30);
	for (u32 expect = 24; expect <= 29; expect++) { /* its node */
		CHECK(shard_near_next(&it, &s));
		CHECK_EQ(s, expect);
	}
	for (u32 expect = 36; expect <= 47; expect++) { /* its package */
		CHECK(shard_near_next(&it, &s));
		CHECK_EQ(s, expect);
	}
	for (u32 expect = 0; expect <= 23; expect++) { /* the other package */
		CHECK(shard_near_next(&it, &s));
		CHECK_EQ(s, expect);
	}
	CHECK(!shard_near_next(&it, &s));
	shard_plan_free(plan);
}

static const struct shard_cpu good = { 0, 0, 0, 0, 0, 0, true };

static void check_refused(const struct shard_cpu *cpu, u32 nr_cpus, enum shard_plan_err expected,
			  u32 bad_cpu)
{
	u32 bad = ~0u;
	struct shard_plan_opts opts = { .bad_cpu = &bad };
	struct shard_plan *plan = (struct shard_plan *)&bad;

	CHECK_EQ(build(&plan, cpu, nr_cpus, &opts), expected);
	CHECK(!plan);
	CHECK_EQ(bad, bad_cpu);
	CHECK_EQ(test_bytes_allocated(), 0);
}

static void contradictions_are_refused(void)
{
	struct shard_cpu c[4];

#define ALL_GOOD()                            \
	do {                                  \
		for (s32 i = 0; i < 4; i++) { \
			c[i] = good;          \
			c[i].core = i;        \
			c[i].l2 = i;          \
		}                             \
	} while (0)

	ALL_GOOD();
	c[3].package = 1;
	c[3].node = 1;
	check_refused(c, 4, SHARD_PLAN_LLC_SPANS_PACKAGES, 3);

	ALL_GOOD();
	c[3].llc = 1;
	c[3].l2 = 2;
	check_refused(c, 4, SHARD_PLAN_L2_SPANS_LLCS, 3);

	ALL_GOOD();
	c[2].l2 = 1;
	c[2].node = 1;
	check_refused(c, 4, SHARD_PLAN_L2_SPANS_LLCS, 2);

	ALL_GOOD(); /* 0 is a valid number of an L2 */
	c[1].l2 = 0;
	c[1].node = 1;
	check_refused(c, 4, SHARD_PLAN_L2_SPANS_LLCS, 1);

	ALL_GOOD();
	c[3].core = 2;
	check_refused(c, 4, SHARD_PLAN_CORE_SPANS_LLCS, 3);

	ALL_GOOD();
	c[1].core = 0;
	check_refused(c, 4, SHARD_PLAN_CORE_SPANS_LLCS, 1);

	ALL_GOOD(); /* without a known L2, which would be refused first */
	for (int i = 0; i < 4; i++)
		c[i].l2 = -1;
	c[3].core = 2;
	c[3].llc = 1;
	check_refused(c, 4, SHARD_PLAN_CORE_SPANS_LLCS, 3);

	ALL_GOOD();
	c[1].node = 1;
	c[2].package = 1;
	c[2].llc = 1;
	check_refused(c, 4, SHARD_PLAN_CYCLIC, 3);
#undef ALL_GOOD
}

static void empty_and_oversized_are_refused(void)
{
	struct shard_cpu none = good;
	struct shard_plan_opts opts = { .cap = 65 };
	struct shard_plan *plan;

	check_refused(NULL, 0, SHARD_PLAN_NO_CPUS, ~0u);
	none.possible = false;
	check_refused(&none, 1, SHARD_PLAN_NO_POSSIBLE, ~0u);
	check_refused(&none, SHARD_MAX_CPUS + 1, SHARD_PLAN_TOO_MANY_CPUS, ~0u);
	test_fail_alloc(1); /* the largest number of CPUs is not refused for its size */
	check_refused(&none, SHARD_MAX_CPUS, SHARD_PLAN_NO_MEMORY, ~0u);
	CHECK_EQ(build(&plan, &good, 1, &opts), SHARD_PLAN_CAP_RANGE);
	opts.cap = 64;
	CHECK_EQ(build(&plan, &good, 1, &opts), SHARD_PLAN_OK);
	shard_plan_free(plan);
}

static void more_shards_than_numbers_are_refused(void)
{
	struct shard_plan_opts opts = { .cap = 1 };
	struct shard_plan *plan;
	struct shard_cpu *cpu = calloc(SHARD_MAX_SHARDS + 1, sizeof(*cpu));

	CHECK(cpu);
	for (u32 i = 0; i <= SHARD_MAX_SHARDS; i++)
		cpu[i] = (struct shard_cpu){ 0, 0, 0, (s32)i, (s32)i, 0, true };
	CHECK_EQ(build(&plan, cpu, SHARD_MAX_SHARDS + 1, &opts), SHARD_PLAN_TOO_MANY_SHARDS);
	CHECK_EQ(build(&plan, cpu, SHARD_MAX_SHARDS, &opts), SHARD_PLAN_OK);
	CHECK_EQ(plan->nr_shards, SHARD_MAX_SHARDS);
	CHECK_EQ(plan->slot[SHARD_MAX_SHARDS - 1].shard, SHARD_MAX_SHARDS - 1);
	shard_plan_free(plan);
	free(cpu);
}

static void every_error_has_words(void)
{
	for (int err = SHARD_PLAN_OK; err <= SHARD_PLAN_NO_MEMORY; err++) {
		CHECK(strcmp(shard_plan_strerror(err), "unknown error"));
		for (int other = SHARD_PLAN_OK; other < err; other++)
			CHECK(strcmp(shard_plan_strerror(err), shard_plan_strerror(other)));
	}
	CHECK(!strcmp(shard_plan_strerror((enum shard_plan_err)99), "unknown error"));
}

static void no_memory_leaves_nothing_behind(void)
{
	struct shard_plan *plan;

	for (unsigned int n = 1; n <= 2; n++) {
		test_fail_alloc(n);
		CHECK_EQ(build(&plan, &good, 1, NULL), SHARD_PLAN_NO_MEMORY);
		CHECK(!plan);
		CHECK_EQ(test_bytes_allocated(), 0);
	}
	test_fail_alloc(0);
	shard_plan_free(NULL);
}

/*
 * A hybrid machine: 6 cores of two threads and 8 small cores share an L3. Two low-power cores have
 * no L3; their last shared cache is their L2. They are a separate shard, next to the other one. If
 * their caches are unknown, the caches of all count as unknown, and all CPUs are one shard.
 */
static void low_power_cores_without_an_l3(void)
{
	struct shard_cpu cpu[22];
	const struct shard_topo topo = { 22, cpu };
	struct shard_plan *plan;

	for (u32 i = 0; i < 22; i++) {
		u32 core = i < 12 ? i / 2 : i - 6;

		cpu[i] = (struct shard_cpu){ .package = 0,
					     .node = 0,
					     .llc = i < 20 ? 0 : 1,
					     .l2 = (s32)(core < 6 ? core : 6 + (core - 6) / 4),
					     .core = (s32)core,
					     .thread = i < 12 ? (s32)(i % 2) : 0,
					     .possible = true };
		if (i >= 20)
			cpu[i].l2 = 8;
	}
	CHECK_EQ(shard_plan_build(&plan, &topo, NULL), SHARD_PLAN_OK);
	CHECK_EQ(plan->nr_shards, 2);
	CHECK_EQ(plan->shard[0].nr_cpus, 20);
	CHECK_EQ(plan->shard[1].nr_cpus, 2);
	CHECK_EQ(plan->slot[20].shard, 1);
	CHECK_EQ(plan->slot[21].shard, 1);
	CHECK_EQ(plan->shard[1].near[plan->shard[1].nr_near - 1].first, 0);
	shard_plan_free(plan);

	cpu[20].llc = -1;
	cpu[21].llc = -1;
	CHECK_EQ(shard_plan_build(&plan, &topo, NULL), SHARD_PLAN_OK);
	CHECK_EQ(plan->nr_shards, 1);
	CHECK_EQ(plan->shard[0].nr_cpus, 22);
	shard_plan_free(plan);
}

#define TESTS(TEST)                                            \
	TEST(low_power_cores_without_an_l3)                    \
	TEST(large_llcs_are_cut_evenly)                        \
	TEST(cores_larger_than_the_cap_are_cut_into_threads)   \
	TEST(clusters_stay_whole)                              \
	TEST(split_llc_cuts_between_cores)                     \
	TEST(split_llc_keeps_siblings_together)                \
	TEST(numbers_of_first_and_second_threads_are_two_runs) \
	TEST(neighbouring_siblings_are_one_run)                \
	TEST(level_falls_back)                                 \
	TEST(one_unknown_llc_makes_all_unknown)                \
	TEST(shard_never_spans_nodes)                          \
	TEST(numa_off_is_one_node_of_two_packages)             \
	TEST(walk_goes_from_near_to_far)                       \
	TEST(contradictions_are_refused)                       \
	TEST(empty_and_oversized_are_refused)                  \
	TEST(more_shards_than_numbers_are_refused)             \
	TEST(every_error_has_words)                            \
	TEST(no_memory_leaves_nothing_behind)

TEST_MAIN(plan_test, TESTS)
