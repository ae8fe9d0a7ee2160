// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads on every layout of the idle set. Two rules must hold whatever they do. A CPU that learns
 * of a CPU in the set finds it. A balancer that clears the flags either sees the CPU that sets
 * them, or leaves them set for the next one.
 */
#include "../rd/machines.h"
#include "../../../core/tests/stress/threads.h"
#include "idle/idle_set.h"

#define ROUNDS 20000u

static const struct idle_ops *ops;
static struct rd_machine machine;
static struct idle_set *set;

static void set_up(void)
{
	rd_machine_make(&machine, &rd_shapes[4]);
	set = ops->create(&machine.topo, machine.plan);
	CHECK(set != NULL);
}

static void tear_down(void)
{
	ops->destroy(set);
	rd_machine_free(&machine);
}

static bool contains(s64 (*next)(const struct idle_set *, u32, s64), u32 me, u32 cpu)
{
	u32 n = 0;

	for (s64 i = next(set, me, -1); i >= 0; i = next(set, me, i)) {
		CHECK(++n <= machine.plan->nr_possible);
		if (i == (s64)cpu)
			return true;
	}
	return false;
}

static u64 told[2], looked[2];

/* Threads 0 and 1 are CPUs that become idle; 2 and 3 learn of that and search. */
static void tell_and_look(u32 thread)
{
	u32 pair = thread & 1, cpu = pair ? 70 : 3;

	for (u64 round = 1; round <= ROUNDS; round++) {
		if (thread < 2) {
			ops->enter(set, cpu);
			smp_store_release(&told[pair], round);
			while (smp_load_acquire(&looked[pair]) < round)
				sched_yield();
			ops->exit(set, cpu);
			continue;
		}
		while (smp_load_acquire(&told[pair]) < round)
			sched_yield();
		CHECK(ops->any(set, 10));
		CHECK(ops->test(set, cpu));
		CHECK(contains(ops->walk, 10, cpu));
		CHECK(contains(ops->pick, 10, cpu));
		smp_store_release(&looked[pair], round);
	}
}

static void who_entered_is_found(void)
{
	set_up();
	told[0] = told[1] = looked[0] = looked[1] = 0;
	run_threads(tell_and_look);
	CHECK(ops->walk(set, 3, -1) < 0);
	tear_down();
}

static u32 arrived;

/* Wait for all threads. */
static void meet(u32 time)
{
	__atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < time * NR_THREADS)
		sched_yield();
}

static u64 load; /* what the CPU of thread 1 stores before it goes idle again */

/*
 * In odd rounds thread 0 enters; in even rounds thread 1, which is in the set, goes idle again.
 * Thread 2 balances. Thread 3 reads, which moves the lines between caches.
 */
static void raise_and_clear(u32 thread)
{
	for (u32 round = 1; round <= ROUNDS / 4; round++) {
		bool enters = round % 2, saw = false;

		meet(2 * round - 1);
		if (thread == 0 && enters) {
			ops->enter(set, 70);
		} else if (thread == 1 && !enters) {
			WRITE_ONCE(load, round);
			ops->stay(set);
		} else if (thread == 2) {
			WRITE_ONCE(set->nohz->has_blocked, 0);
			WRITE_ONCE(set->nohz->needs_update, 0);
			smp_mb();
			saw = enters ? contains(ops->walk, 3, 70) : READ_ONCE(load) == round;
		} else if (thread == 3) {
			ops->any(set, 3);
		}
		meet(2 * round);
		if (thread == 2 && !saw) {
			CHECK(READ_ONCE(set->nohz->has_blocked));
			CHECK(!enters || READ_ONCE(set->nohz->needs_update));
		} else if (thread == 0 && enters) {
			ops->exit(set, 70);
		}
	}
}

static void no_flag_is_lost(void)
{
	set_up();
	arrived = 0;
	ops->enter(set, 71);
	run_threads(raise_and_clear);
	tear_down();
}

int main(void)
{
	for (u32 i = 0; idle_layouts[i]; i++) {
		ops = idle_layouts[i];
		RUN(who_entered_is_found);
		RUN(no_flag_is_lost);
	}
	return test_done();
}
