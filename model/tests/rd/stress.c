// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads on every layout. Only one thread changes a CPU, as if it held the run queue's lock. Three
 * rules must hold whatever they do. A search finds a CPU that rises at its old or new level. A walk
 * after a query that reported a CPU finds the CPU. A look after each request for a walk serves it.
 */
#include "../../../core/tests/stress/threads.h"
#include "machines.h"
#include "rd.h"

#define ROUNDS 20000u

static const struct rd_ops *ops;
static struct rd_machine machine;
static struct rd *rd;

static void set_up(u32 shape)
{
	rd_machine_make(&machine, &rd_shapes[shape]);
	rd = ops->create(&machine.topo, machine.plan, machine.span);
	CHECK(rd != NULL);
}

static void tear_down(void)
{
	ops->destroy(rd);
	rd_machine_free(&machine);
}

/* Even while the CPUs only rise; odd while they fall, because a search may then miss them. */
static u64 phase;

/* Thread 0's CPUs 3 and 5 go up from 1 to 99 in steps, and back. */
static void rise(void)
{
	for (u32 i = 0; i < ROUNDS; i++) {
		WRITE_ONCE(phase, 2 * i + 1);
		smp_mb();
		ops->set_level(rd, 3, 1);
		ops->set_level(rd, 5, 2);
		smp_mb();
		WRITE_ONCE(phase, 2 * i + 2);
		smp_mb();
		for (int level = 3; level < 99; level += 1 + (int)(i % 40)) {
			ops->set_level(rd, 3, level);
			ops->set_level(rd, 5, level + 1);
		}
	}
	WRITE_ONCE(phase, ~0ull);
}

static void search_while_rising(u32 thread)
{
	const unsigned long both = 1ul << 3 | 1ul << 5;
	u64 random = 3 + thread;
	u32 own = 8 + thread;

	if (thread == 0) {
		rise();
		return;
	}
	for (u64 before = READ_ONCE(phase), after; before != ~0ull; before = after) {
		unsigned long found = 0;
		int level;

		smp_rmb();
		/* Changes CPUs that share words and lines with 3 and 5. */
		ops->set_level(rd, own, (int)test_below(&random, 102) - 1);
		level = ops->find(rd, 100, own, &both, &found, NULL, NULL) - 1;
		smp_rmb();
		after = READ_ONCE(phase);
		if (level >= 0) {
			CHECK(level >= 1 && level <= 99);
			CHECK(found && !(found & ~both));
		}
		if (before == after && before && before % 2 == 0)
			CHECK(level >= 1);
	}
}

static void a_cpu_that_rises_is_never_missed(void)
{
	set_up(3);
	phase = 0;
	run_threads(search_while_rising);
	tear_down();
}

static u64 told[2], looked[2];

/* Threads 0 and 1 are overloaded CPUs; 2 and 3 query and walk. */
static void tell_and_look(u32 thread)
{
	u32 pair = thread & 1, cpu = pair ? 70 : 3;
	u64 from;

	for (u64 round = 1; round <= ROUNDS; round++) {
		if (thread < 2) {
			ops->overload_set(rd, cpu, ~0ull);
			smp_store_release(&told[pair], round);
			while (smp_load_acquire(&looked[pair]) < round)
				sched_yield();
			ops->overload_clear(rd, cpu);
			continue;
		}
		while (smp_load_acquire(&told[pair]) < round) {
			ops->overloaded(rd, 10, &from);
			sched_yield();
		}
		CHECK(ops->overloaded(rd, 10, &from) & RD_OTHERS);
		CHECK(ops->overloaded(rd, cpu, &from) != 0);
		CHECK(ops->next(rd, 10, RD_FROM_ALL, -1) >= 0);
		CHECK_EQ(ops->next(rd, 10, RD_FROM_ALL, (s64)cpu - 1), cpu);
		smp_store_release(&looked[pair], round);
	}
}

static void who_is_set_is_seen(void)
{
	set_up(4);
	if (!ops->by_index) {
		told[0] = told[1] = looked[0] = looked[1] = 0;
		run_threads(tell_and_look);
	}
	tear_down();
}

static u64 asked[NR_THREADS], served[NR_THREADS];

/* The part of an overloaded CPU in a walk: serves all requests that it sees. */
static void look(void)
{
	for (u32 i = 0; i < NR_THREADS; i++) {
		u64 round = smp_load_acquire(&asked[i]), old = READ_ONCE(served[i]);

		while (old < round) {
			u64 seen = port_cmpxchg64(&served[i], old, round);

			if (seen == old)
				break;
			old = seen;
		}
	}
}

/* Stores a request, requests a walk, and carries it if necessary; then waits until it is served. */
static void ask(u32 thread)
{
	for (u64 round = 1; round <= ROUNDS / 4; round++) {
		u64 patience = 100000000;
		s64 cpu;

		smp_store_release(&asked[thread], round);
		for (cpu = ops->walk_request(rd, thread); cpu >= 0;
		     cpu = ops->walk_next(rd, (u32)cpu)) {
			ops->walk_arrive(rd, (u32)cpu);
			look();
		}
		while (smp_load_acquire(&served[thread]) < round) {
			CHECK(--patience);
			sched_yield();
		}
	}
}

static void no_request_for_a_walk_is_lost(void)
{
	set_up(4);
	ops->overload_set(rd, 100, ~0ull);
	ops->overload_set(rd, 200, ~0ull);
	memset(asked, 0, sizeof(asked));
	memset(served, 0, sizeof(served));
	run_threads(ask);
	tear_down();
}

int main(void)
{
	for (u32 i = 0; rd_layouts[i]; i++) {
		ops = rd_layouts[i];
		printf("%s\n", ops->name);
		RUN(a_cpu_that_rises_is_never_missed);
		RUN(who_is_set_is_seen);
		RUN(no_request_for_a_walk_is_lost);
	}
	return test_done();
}
