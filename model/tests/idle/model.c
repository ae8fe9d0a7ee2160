// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Compares every layout of the idle set with an array: which CPUs are in it, and in which order a
 * search finds them. The test computes this order from a list of all CPUs and the search's start.
 */
#include "../rd/machines.h"
#include "idle/idle_set.h"
#include "linux_sched.h"

struct model {
	struct rd_machine machine;
	const struct idle_ops *ops;
	struct idle_set *set;
	u64 random;
	bool in[TEST_MAX_CPUS];
	u32 nr_in;
	u32 order[TEST_MAX_CPUS], n; /* all possible CPUs */
};

static bool is(const struct model *m, const char *name)
{
	return !strcmp(m->ops->name, name);
}

static bool is_sharded(const struct model *m)
{
	return is(m, "sbm-first") || is(m, "sbm-wrap");
}

static void make_order(struct model *m)
{
	const struct shard_plan *plan = m->machine.plan;

	m->n = 0;
	if (is(m, "slots")) {
		for (u32 slot = 0; slot < nr_cpu_slots; slot++)
			if (cpu_slot[cpu_slot_cpu[slot]] == slot)
				m->order[m->n++] = (u32)cpu_slot_cpu[slot];
	} else if (is_sharded(m)) {
		for (u32 idx = 0; idx < plan->nr_possible; idx++)
			m->order[m->n++] = plan->idx_to_cpu[idx];
	} else {
		for (u32 cpu = 0; cpu < plan->nr_cpus; cpu++)
			if (rd_machine_has(&m->machine, cpu))
				m->order[m->n++] = cpu;
	}
	CHECK_EQ(m->n, plan->nr_possible);
}

static u32 place_of(const struct model *m, u32 cpu)
{
	u32 i = 0;

	while (m->order[i] != cpu)
		i++;
	return i;
}

/* Returns the next number of a possible CPU. */
static u32 next_number(const struct model *m, u32 cpu)
{
	do
		cpu = cpu + 1 < m->machine.topo.nr_cpus ? cpu + 1 : 0;
	while (!rd_machine_has(&m->machine, cpu));
	return cpu;
}

static u32 start_of_walk(const struct model *m, u32 me)
{
	if (is(m, "sbm-first"))
		return 0;
	if (is(m, "sbm-wrap"))
		return place_of(m, next_number(m, me));
	return place_of(m, me) + 1;
}

static void check_order(const struct model *m, u32 me, u32 start,
			s64 (*next)(const struct idle_set *, u32, s64))
{
	s64 cpu = next(m->set, me, -1);

	for (u32 i = 0; i < m->n; i++) {
		u32 expect = m->order[(start + i) % m->n];

		if (!m->in[expect])
			continue;
		CHECK_EQ(cpu, expect);
		cpu = next(m->set, me, cpu);
	}
	CHECK_EQ(cpu, -1);
}

static void check(const struct model *m, u32 me)
{
	for (u32 cpu = 0; cpu < m->machine.topo.nr_cpus; cpu++)
		if (rd_machine_has(&m->machine, cpu))
			CHECK_EQ(m->ops->test(m->set, cpu), m->in[cpu]);
	CHECK_EQ(m->ops->any(m->set, me), m->nr_in || is_sharded(m));
	check_order(m, me, start_of_walk(m, me), m->ops->walk);
	check_order(m, me, 0, m->ops->pick);
	if (is(m, "stock"))
		CHECK_EQ(m->set->nohz->nr_cpus, m->nr_in);
}

static void toggle(struct model *m, u32 cpu)
{
	struct nohz *nohz = m->set->nohz;

	nohz->has_blocked = nohz->needs_update = 0;
	if (m->in[cpu]) {
		m->ops->stay(m->set);
		CHECK_EQ(nohz->has_blocked, 1);
		CHECK_EQ(nohz->needs_update, 0);
		m->ops->exit(m->set, cpu);
		m->nr_in--;
	} else {
		m->ops->enter(m->set, cpu);
		CHECK_EQ(nohz->has_blocked, 1);
		CHECK_EQ(nohz->needs_update, 1);
		m->nr_in++;
	}
	m->in[cpu] = !m->in[cpu];
}

/* Sometimes filling, sometimes emptying, so that full, sparse and empty sets all occur. */
static void step(struct model *m, bool fill)
{
	u32 n = 1 + test_below(&m->random, m->n / 2 + 1);

	for (u32 i = 0; i < n; i++) {
		u32 cpu = rd_machine_any(&m->machine, &m->random);

		if (m->in[cpu] != fill || !test_below(&m->random, 8))
			toggle(m, cpu);
	}
	check(m, rd_machine_any(&m->machine, &m->random));
}

static void empty(struct model *m)
{
	for (u32 cpu = 0; cpu < m->machine.topo.nr_cpus; cpu++)
		if (m->in[cpu])
			toggle(m, cpu);
	check(m, m->order[0]);
}

static void run(const struct idle_ops *ops, const struct shape *shape, u64 seed)
{
	static struct model m;
	size_t before;

	memset(&m, 0, sizeof(m));
	m.ops = ops;
	m.random = seed;
	rd_machine_make(&m.machine, shape);
	before = test_bytes_allocated();
	m.set = ops->create(&m.machine.topo, m.machine.plan);
	CHECK(m.set != NULL);
	make_order(&m);
	CHECK(ops->bytes(m.set) >= (m.machine.plan->nr_possible + 7) / 8);
	for (test_state.step = 0; test_state.step < 40; test_state.step++) {
		step(&m, test_state.step / 5 % 2 == 0);
		if (test_state.step % 13 == 12)
			empty(&m);
	}
	ops->destroy(m.set);
	CHECK_EQ(test_bytes_allocated(), before);
	rd_machine_free(&m.machine);
}

/* Each allocation fails in turn, and nothing leaks. */
static void short_of_memory(const struct idle_ops *ops)
{
	struct rd_machine machine;
	struct idle_set *s = NULL;
	size_t before;
	u32 n = 0;

	rd_machine_make(&machine, &rd_shapes[4]);
	before = test_bytes_allocated();
	while (!s) {
		test_fail_alloc(++n);
		s = ops->create(&machine.topo, machine.plan);
		test_fail_alloc(0);
		if (!s)
			CHECK_EQ(test_bytes_allocated(), before);
	}
	CHECK(n > 2);
	ops->destroy(s);
	ops->destroy(NULL);
	CHECK_EQ(test_bytes_allocated(), before);
	rd_machine_free(&machine);
}

int main(int argc, char **argv)
{
	u64 seed = test_seed(argc, argv);

	for (u32 i = 0; idle_layouts[i]; i++) {
		test_state.name = idle_layouts[i]->name;
		for (u32 s = 0; s < nr_rd_shapes; s++) {
			test_state.seed = seed + s;
			run(idle_layouts[i], &rd_shapes[s], test_state.seed);
		}
		test_state.seed = 0;
		short_of_memory(idle_layouts[i]);
		test_state.passed++;
	}
	return test_done();
}
