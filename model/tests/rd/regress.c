// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests every layout for bugs that reviewers found in the published prototypes, if the overload set
 * can have them. It also tests failed allocations, and the rules of a walk without races.
 */
#include "machines.h"
#include "rd.h"

static const struct rd_ops *ops;
static struct rd_machine machine;
static struct rd *rd;
static u64 from; /* not looked at */

static void set_up(const char *shape)
{
	u32 s = 0;

	while (s + 1 < nr_rd_shapes && strcmp(rd_shapes[s].name, shape))
		s++;
	CHECK(!strcmp(rd_shapes[s].name, shape));
	rd_machine_make(&machine, &rd_shapes[s]);
	rd = ops->create(&machine.topo, machine.plan, machine.span);
	CHECK(rd != NULL);
}

/* The next CPU, of all. */
static s64 next(s64 cpu)
{
	return ops->next(rd, 0, RD_FROM_ALL, cpu);
}

static void tear_down(void)
{
	ops->destroy(rd);
	rd_machine_free(&machine);
}

/* "continue" instead of "break": empty leaves before a set bit made the search spin or miss it. */
static void endless_next_bit_loop(void)
{
	u32 last;

	set_up("384 CPUs in 24 LLCs");
	last = machine.plan->idx_to_cpu[machine.plan->nr_possible - 1];
	CHECK_EQ(next(-1), -1);
	ops->overload_set(rd, last, ~0ull);
	CHECK_EQ(next(-1), last);
	CHECK_EQ(next(last), -1);
	CHECK_EQ(ops->overloaded(rd, 0, &from), RD_OTHERS);
	CHECK_EQ(ops->overloaded(rd, last, &from), RD_ONLY_ME);
	tear_down();
}

/* A leaf was one word however many CPUs the die had: CPUs beyond 64 used bits of other CPUs. */
static void more_than_64_cpus_a_leaf(void)
{
	set_up("480 CPUs in two LLCs");
	for (u32 cpu = 0; cpu < machine.topo.nr_cpus; cpu += 2)
		ops->overload_set(rd, cpu, ~0ull);
	for (u32 cpu = 1; cpu < machine.topo.nr_cpus; cpu += 2) {
		s64 found = next(cpu - 1);

		CHECK(found != cpu);
	}
	for (u32 cpu = 0; cpu < machine.topo.nr_cpus; cpu += 2)
		ops->overload_clear(rd, cpu);
	CHECK_EQ(ops->overloaded(rd, 0, &from), 0);
	CHECK_EQ(next(-1), -1);
	tear_down();
}

/* The shift was that of half a die: CPUs used the leaf or bit of another CPU. */
static void shift_off_by_one(void)
{
	for (u32 s = 0; s < nr_rd_shapes; s++) {
		set_up(rd_shapes[s].name);
		for (u32 cpu = 0; cpu < machine.topo.nr_cpus; cpu++) {
			unsigned long found[TEST_MAX_WORDS], expect[TEST_MAX_WORDS] = { 0 };

			if (!rd_machine_has(&machine, cpu))
				continue;
			ops->overload_set(rd, cpu, ~0ull);
			CHECK_EQ(next(-1), cpu);
			CHECK_EQ(next(cpu), -1);
			CHECK_EQ(ops->overloaded(rd, cpu, &from), RD_ONLY_ME);
			ops->overload_clear(rd, cpu);
			CHECK_EQ(ops->overloaded(rd, cpu, &from), 0);

			test_set_bit(expect, cpu);
			ops->set_level(rd, cpu, 42);
			CHECK_EQ(ops->find(rd, 43, cpu, machine.span, found, NULL, NULL), 43);
			CHECK_MASK_EQ(found, expect, machine.topo.nr_cpus);
			CHECK_EQ(ops->find(rd, 42, cpu, machine.span, found, NULL, NULL), 0);
			ops->set_level(rd, cpu, CPUPRI_INVALID);
		}
		tear_down();
	}
}

/* The search always began at the first CPU, or stopped at the last: some were never visited. */
static void unwrapped_walk(void)
{
	static const u32 cpus[] = { 5, 200, 479 };
	u32 visits[480] = { 0 };
	s64 cpu;

	set_up("480 CPUs in two LLCs");
	for (u32 i = 0; i < 3; i++)
		ops->overload_set(rd, cpus[i], ~0ull);
	cpu = ops->walk_request(rd, 7);
	CHECK(cpu >= 0);
	/* A request after the walk has passed the first CPUs makes it visit all once more. */
	for (u32 i = 0; i < 2; i++) {
		visits[cpu]++;
		ops->walk_arrive(rd, (u32)cpu);
		cpu = ops->walk_next(rd, (u32)cpu);
		CHECK(cpu >= 0);
	}
	CHECK_EQ(ops->walk_request(rd, 300), -1);
	memset(visits, 0, sizeof(visits));
	for (; cpu >= 0; cpu = ops->walk_next(rd, (u32)cpu)) {
		visits[cpu]++;
		ops->walk_arrive(rd, (u32)cpu);
	}
	for (u32 i = 0; i < 3; i++)
		CHECK(visits[cpus[i]] >= 1);
	for (u32 i = 0; i < 480; i++)
		CHECK(visits[i] <= 3);
	tear_down();
}

/* No CPU to visit: the walk ends at once, and a new request works. */
static void walk_of_nobody(void)
{
	set_up("16 CPUs");
	CHECK_EQ(ops->walk_request(rd, 3), -1);
	CHECK_EQ(ops->walk_request(rd, 4), -1);
	ops->overload_set(rd, 9, ~0ull);
	CHECK_EQ(ops->walk_request(rd, 3), 9);
	CHECK_EQ(ops->walk_request(rd, 4), -1);
	ops->walk_arrive(rd, 9);
	ops->overload_clear(rd, 9);
	CHECK_EQ(ops->walk_next(rd, 9), -1);
	CHECK_EQ(ops->walk_request(rd, 3), -1);
	tear_down();
}

static void memory_runs_out(void)
{
	u32 allocations = 0;

	rd_machine_make(&machine, &rd_shapes[3]);
	do {
		size_t before = test_bytes_allocated();

		test_fail_alloc(++allocations);
		rd = ops->create(&machine.topo, machine.plan, machine.span);
		CHECK(rd || test_bytes_allocated() == before);
	} while (!rd);
	test_fail_alloc(0);
	CHECK(allocations > 5);
	tear_down();
}

int main(void)
{
	for (u32 i = 0; rd_layouts[i]; i++) {
		ops = rd_layouts[i];
		printf("%s\n", ops->name);
		RUN(endless_next_bit_loop);
		RUN(more_than_64_cpus_a_leaf);
		RUN(shift_off_by_one);
		RUN(unwrapped_walk);
		RUN(walk_of_nobody);
		RUN(memory_runs_out);
	}
	return test_done();
}
