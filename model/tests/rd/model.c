// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Compares every layout with two arrays, of the level of each CPU, and of whether it is overloaded.
 * Levels, affinities, fitness and spans are random; every layout must give the arrays' answers.
 */
#include "machines.h"
#include "rd.h"

struct model {
	struct rd_machine machine;
	const struct rd_ops *ops;
	struct rd *rd;
	u64 random;
	unsigned long span[TEST_MAX_WORDS];
	bool partial; /* the root domain does not contain all CPUs */
	int level[TEST_MAX_CPUS];
	u64 shards[TEST_MAX_CPUS]; /* where the CPU's waiting tasks may run; 0: none waits */
	u32 nr_overloaded;
	unsigned long unfit[TEST_MAX_WORDS];
};

static void random_mask(struct model *m, unsigned long *mask)
{
	u32 nr = m->machine.topo.nr_cpus, kind = test_below(&m->random, 4);
	u32 few = 1 + test_below(&m->random, 24), cpu = test_below(&m->random, nr);

	memset(mask, 0, sizeof(m->span));
	for (u32 i = 0; kind == 0 && i < few; i++)
		test_set_bit(mask, test_below(&m->random, nr));
	for (u32 i = 0; kind == 1 && i < few && cpu + i < nr; i++)
		test_set_bit(mask, cpu + i);
	for (cpu = 0; kind >= 2 && cpu < nr; cpu++)
		if (kind == 3 || test_below(&m->random, 2))
			test_set_bit(mask, cpu);
}

static bool fits(u32 cpu, void *arg)
{
	const struct model *m = arg;

	return !test_bit(m->unfit, cpu);
}

static bool is_subset(const unsigned long *a, const unsigned long *b, u32 nr_cpus)
{
	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		if (test_bit(a, cpu) && !test_bit(b, cpu))
			return false;
	return true;
}

/* The LLC, node or package level at which two CPUs meet: 0 the same LLC. */
static u32 distance(const struct model *m, u32 a, u32 b)
{
	const struct shard_plan *plan = m->machine.plan;

	return (u32)(shard_near_rank(plan, plan->slot[a].shard, plan->slot[b].shard) >> 32);
}

/*
 * A near search finds at least one of the CPUs expected. At CPUPRI_NORMAL it may leave out others,
 * but none that is nearer than one that it found.
 */
static void check_near(struct model *m, int limit, u32 home, const unsigned long *allowed, bool fit,
		       int expect, const unsigned long *expected)
{
	static unsigned long found[TEST_MAX_WORDS];
	u32 nr = m->machine.topo.nr_cpus, farthest = 0, nearest_left_out = ~0u, n = 0;

	CHECK_EQ(m->ops->find_near(m->rd, limit, home, allowed, found, fit ? fits : NULL, m),
		 expect + 1);
	if (expect < 0)
		return;
	if (expect > CPUPRI_NORMAL)
		CHECK_MASK_EQ(found, expected, nr);
	CHECK(is_subset(found, expected, nr));
	for (u32 cpu = 0; cpu < nr; cpu++) {
		u32 far;

		if (!test_bit(expected, cpu))
			continue;
		far = distance(m, home, cpu);
		n += test_bit(found, cpu);
		if (test_bit(found, cpu) && far > farthest)
			farthest = far;
		if (!test_bit(found, cpu) && far < nearest_left_out)
			nearest_left_out = far;
	}
	CHECK(n > 0);
	CHECK(farthest <= nearest_left_out);
}

/* The lowest level below @limit of a CPU that counts, and all CPUs there; -1: none. */
static int expect_find(const struct model *m, int limit, const unsigned long *allowed, bool fit,
		       unsigned long *found)
{
	int best = limit;

	for (int pass = 0; pass < 2; pass++) {
		memset(found, 0, sizeof(m->span));
		for (u32 cpu = 0; cpu < m->machine.topo.nr_cpus; cpu++) {
			if (!test_bit(m->span, cpu) || !test_bit(allowed, cpu) ||
			    (fit && test_bit(m->unfit, cpu)) || m->level[cpu] < 0)
				continue;
			if (m->level[cpu] < best)
				best = m->level[cpu];
			if (pass && m->level[cpu] == best && best < limit)
				test_set_bit(found, cpu);
		}
	}
	if (best == limit && fit)
		return expect_find(m, limit, allowed, false, found);
	return best < limit ? best : -1;
}

static void check_find(struct model *m)
{
	static unsigned long allowed[TEST_MAX_WORDS], found[TEST_MAX_WORDS],
		expected[TEST_MAX_WORDS];
	u32 nr = m->machine.topo.nr_cpus, from = rd_machine_any(&m->machine, &m->random);
	int limit = (int)test_below(&m->random, 102) - 1, expect;
	bool fit = test_below(&m->random, 2);

	random_mask(m, allowed);
	if (test_below(&m->random, 2))
		random_mask(m, m->unfit);
	expect = expect_find(m, limit, allowed, fit, expected);
	memset(found, 0xff, sizeof(found));
	CHECK_EQ(m->ops->find(m->rd, limit, from, allowed, found, fit ? fits : NULL, m),
		 expect + 1);
	if (expect >= 0)
		CHECK_MASK_EQ(found, expected, nr);
	check_near(m, limit, from, allowed, fit, expect, expected);
	/* Without a mask for the result Linux does not check which CPUs are active. */
	if (m->partial)
		return;
	expect = expect_find(m, limit, allowed, false, expected);
	CHECK_EQ(m->ops->find(m->rd, limit, from, allowed, NULL, fits, m) > 0, expect >= 0);
}

static u64 shard_bit(const struct model *m, u32 cpu)
{
	unsigned long only[TEST_MAX_WORDS] = { 0 };

	test_set_bit(only, cpu);
	return m->ops->reach(only).shards;
}

/* May a task of @cpu come to @me? Linux's layouts do not store this. */
static bool may_come(const struct model *m, u32 me, u32 cpu)
{
	if (!m->ops->reach || !m->shards[cpu])
		return m->shards[cpu];
	return m->shards[cpu] & shard_bit(m, me);
}

/*
 * A pull visits each CPU that may have a task, once. A layout with reach() may visit others, but
 * none of another shard whose tasks stay there.
 */
static void check_pull(struct model *m)
{
	static bool visited[TEST_MAX_CPUS];
	u32 me = rd_machine_any(&m->machine, &m->random), nr = m->machine.topo.nr_cpus;
	u32 others = 0, found, expect = m->shards[me] ? RD_ONLY_ME : 0;
	u64 from = 0;

	memset(visited, 0, sizeof(visited));
	found = m->ops->overloaded(m->rd, me, &from);
	for (s64 cpu = -1; found && (cpu = m->ops->next(m->rd, me, from, cpu)) >= 0;) {
		CHECK(m->shards[cpu] && !visited[cpu]);
		if (m->ops->reach && m->machine.plan->nr_shards <= 64 &&
		    shard_bit(m, (u32)cpu) != shard_bit(m, me))
			CHECK(m->shards[cpu] != shard_bit(m, (u32)cpu));
		visited[cpu] = true;
		others += cpu != me;
	}
	for (u32 cpu = 0; cpu < nr; cpu++)
		CHECK(visited[cpu] || !may_come(m, me, cpu));
	CHECK_EQ(found, others ? RD_OTHERS : expect);
}

static u32 place_of(const struct model *m, u32 cpu)
{
	if (m->ops->place)
		return m->ops->place(cpu);
	return m->ops->by_index ? m->machine.plan->slot[cpu].idx : cpu;
}

/* The overloaded CPU after @cpu. */
static s64 expect_next(const struct model *m, s64 cpu)
{
	s64 from = cpu < 0 ? -1 : (s64)place_of(m, (u32)cpu), best = -1;

	for (u32 i = 0; i < m->machine.plan->nr_cpus; i++)
		if (m->shards[i] && (s64)place_of(m, i) > from &&
		    (best < 0 || place_of(m, i) < place_of(m, (u32)best)))
			best = i;
	return best;
}

static void check_pull_order(struct model *m)
{
	u32 me = rd_machine_any(&m->machine, &m->random);
	s64 cpu = test_below(&m->random, 2) ? -1 : (s64)me;

	for (s64 expect; !m->ops->reach; cpu = expect) {
		expect = expect_next(m, cpu);
		CHECK_EQ(m->ops->next(m->rd, me, RD_FROM_ALL, cpu), expect);
		if (expect < 0)
			break;
	}
}

/* Without interrupts in between a walk visits every overloaded CPU once, in order. */
static void check_walk(struct model *m)
{
	u32 me = rd_machine_any(&m->machine, &m->random), nr = m->nr_overloaded;
	s64 cpu = m->ops->walk_request(m->rd, me), expect = expect_next(m, -1);
	u32 visited = 0, more = test_below(&m->random, 3), rounds = 1;

	while (cpu >= 0) {
		CHECK_EQ(cpu, expect);
		m->ops->walk_arrive(m->rd, (u32)cpu);
		visited++;
		/* Requests during a walk: no second walk starts, this one starts over. */
		if (more && visited % (nr + 1) == 1) {
			CHECK_EQ(m->ops->walk_request(m->rd, me), -1);
			CHECK_EQ(m->ops->walk_request(m->rd, me), -1);
			more--;
			rounds++;
		}
		cpu = m->ops->walk_next(m->rd, (u32)cpu);
		expect = expect_next(m, expect);
		if (expect < 0 && cpu >= 0)
			expect = expect_next(m, -1);
	}
	CHECK(visited >= nr);
	CHECK(visited <= nr * (rounds + 1));
	if (nr)
		CHECK(visited >= nr * (rounds > 1 ? 2 : 1));
}

static void change_level(struct model *m)
{
	static const int often[] = { CPUPRI_INVALID, CPUPRI_NORMAL, 1, 50, 98, 99, CPUPRI_HIGHER };
	u32 cpu = rd_machine_any(&m->machine, &m->random);
	int level = test_below(&m->random, 3) ? often[test_below(&m->random, 7)]
					      : (int)test_below(&m->random, 102) - 1;

	m->level[cpu] = level;
	m->ops->set_level(m->rd, cpu, level);
}

static void change_overload(struct model *m)
{
	static unsigned long allowed[TEST_MAX_WORDS];
	u32 cpu = rd_machine_any(&m->machine, &m->random);

	/* Half of the time few CPUs are overloaded, so that none and only-me occur everywhere. */
	if (!m->shards[cpu] && m->nr_overloaded > 2 && m->random >> 63)
		return;
	if (m->shards[cpu] && (!m->ops->reach || test_below(&m->random, 2))) {
		m->shards[cpu] = 0;
		m->ops->overload_clear(m->rd, cpu);
		m->nr_overloaded--;
		return;
	}
	m->nr_overloaded += !m->shards[cpu];
	random_mask(m, allowed);
	if (test_below(&m->random, 3))
		memset(allowed, 0, sizeof(allowed));
	test_set_bit(allowed, cpu);
	m->shards[cpu] |= m->ops->reach ? m->ops->reach(allowed).shards : 1;
	m->ops->overload_set(m->rd, cpu, m->shards[cpu]);
}

static void calm_down(struct model *m)
{
	u32 keep = test_below(&m->random, 3);

	for (u32 cpu = 0; cpu < m->machine.topo.nr_cpus; cpu++)
		if (m->shards[cpu] && m->nr_overloaded > keep) {
			m->shards[cpu] = 0;
			m->nr_overloaded--;
			m->ops->overload_clear(m->rd, cpu);
		}
}

static void step(struct model *m)
{
	for (u32 i = 0; i < 8; i++)
		change_level(m);
	change_overload(m);
	if (!test_below(&m->random, 8))
		calm_down(m);
	check_find(m);
	check_pull(m);
	if (!test_below(&m->random, 8))
		check_pull_order(m);
	if (!test_below(&m->random, 8))
		check_walk(m);
}

/* Each CPU in turn is the only one with a level, and the only one that is overloaded. */
static void each_alone(struct model *m)
{
	unsigned long found[TEST_MAX_WORDS], expect[TEST_MAX_WORDS];
	u64 from;

	for (u32 cpu = 0; cpu < m->machine.topo.nr_cpus; cpu++) {
		if (!test_bit(m->span, cpu))
			continue;
		m->ops->overload_set(m->rd, cpu, ~0ull);
		CHECK_EQ(m->ops->next(m->rd, 0, RD_FROM_ALL, -1), cpu);
		CHECK_EQ(m->ops->next(m->rd, 0, RD_FROM_ALL, cpu), -1);
		CHECK_EQ(m->ops->overloaded(m->rd, cpu, &from), RD_ONLY_ME);
		m->ops->overload_clear(m->rd, cpu);
		CHECK_EQ(m->ops->overloaded(m->rd, cpu, &from), 0);
		m->ops->set_level(m->rd, cpu, 42);
		memset(expect, 0, sizeof(expect));
		test_set_bit(expect, cpu);
		CHECK_EQ(m->ops->find(m->rd, 43, cpu, m->machine.span, found, NULL, NULL), 43);
		CHECK_MASK_EQ(found, expect, m->machine.topo.nr_cpus);
		m->ops->set_level(m->rd, cpu, CPUPRI_INVALID);
	}
}

static void run(const struct rd_ops *ops, const struct shape *shape, u64 seed)
{
	static struct model m;
	u32 steps = 200000 / (100 + shape->packages * shape->nodes * shape->llcs * shape->cores);

	memset(&m, 0, sizeof(m));
	m.ops = ops;
	m.random = seed;
	rd_machine_make(&m.machine, shape);
	memcpy(m.span, m.machine.span, sizeof(m.span));
	/* In a root domain of only some CPUs, the others are never found. */
	m.partial = seed % 2;
	for (u32 cpu = 1; m.partial && cpu < m.machine.topo.nr_cpus; cpu += 3)
		m.span[cpu / 64] &= ~(1ul << cpu % 64);
	for (u32 cpu = 0; cpu < m.machine.topo.nr_cpus; cpu++)
		m.level[cpu] = CPUPRI_INVALID;
	m.rd = ops->create(&m.machine.topo, m.machine.plan, m.span);
	CHECK(m.rd != NULL);
	CHECK(ops->map_bytes(m.rd) > m.machine.plan->nr_possible);
	CHECK_EQ(*ops->flag(m.rd), 0);
	each_alone(&m);
	for (test_state.step = 0; test_state.step < steps; test_state.step++)
		step(&m);
	ops->destroy(m.rd);
	rd_machine_free(&m.machine);
}

static void memory_runs_out(const struct rd_ops *ops)
{
	struct rd_machine machine;
	struct rd *rd = NULL;
	u32 allocations = 0;

	rd_machine_make(&machine, &rd_shapes[3]);
	while (!rd) {
		size_t before = test_bytes_allocated();

		test_fail_alloc(++allocations);
		rd = ops->create(&machine.topo, machine.plan, machine.span);
		CHECK(rd || test_bytes_allocated() == before);
	}
	test_fail_alloc(0);
	CHECK(allocations > 5);
	ops->destroy(rd);
	rd_machine_free(&machine);
}

int main(int argc, char **argv)
{
	u64 seed = test_seed(argc, argv);

	for (u32 i = 0; rd_layouts[i]; i++) {
		test_state.name = rd_layouts[i]->name;
		for (u32 s = 0; s < nr_rd_shapes; s++) {
			test_state.seed = seed + s + 2 * i;
			run(rd_layouts[i], &rd_shapes[s], test_state.seed);
		}
		test_state.seed = 0;
		memory_runs_out(rd_layouts[i]);
		test_state.passed++;
	}
	return test_done();
}
