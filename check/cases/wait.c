// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Waiters for a bit. A waiter that finds no signal counts as asleep; if a signal comes later, its
 * thread would wake. In the end no waiter sleeps without a signal while a bit is set. Planted cases
 * contain the faults of Linux's sbitmap. In one a waiter does not look again after it joined; in
 * another a waiter leaves with a wake-up that was for another waiter.
 */
#include "port.h"

#include <stdlib.h>

#include "cases.h"
#include "objects.h"
#include "sbm_claim.h"
#include "shard_wait.h"
#include "slot_claim.h"

static struct sbm *b;
static struct shard_wait *w;
static struct slot_set *slots;

/* Plan CPUs 0 and 1 are in one shard, 2 and 3 in the other. */
static void setup(uint32_t nr_cpus)
{
	const struct shard_plan *plan = case_plan(4, 2);

	b = case_sbm(plan, 0);
	w = shard_wait_alloc(plan);
	if (!w)
		abort();
	explore_name(&w->total, sizeof(w->total), "total");
	explore_const(w->line, plan->nr_shards * sizeof(*w->line));
	explore_name(w->line[0], 8, "waiters 0");
	explore_name(w->line[1], 8, "waiters 1");
}

/* A set of one slot, which is taken. */
static void setup_slots(uint32_t nr_cpus)
{
	setup(nr_cpus);
	slots = slot_set_alloc(b->plan, 1);
	if (!slots || slot_claim_near(slots, 0))
		abort();
	explore_name(slots, sizeof(*slots), "slot set");
}

enum { OWNS = 1, ASLEEP };

static port_always_inline void wait_near(u32 cpu, u32 from, bool again, bool pass_on)
{
	s64 got;

	if (!again && sbm_claim_near(b, from) >= 0) {
		explore_result(cpu, OWNS);
		return;
	}
	shard_wait_join(w, from);
	got = again ? sbm_claim_near(b, from) : -1;
	if (got < 0 && shard_wait_woken(w, from)) {
		got = sbm_claim_near(b, from);
		if (got < 0) { /* another waiter got the bit: wait again */
			shard_wait_join(w, from);
			got = sbm_claim_near(b, from);
			if (got >= 0 && shard_wait_leave(w, from))
				shard_wait_wake(w, from);
		}
	} else if (got >= 0 && shard_wait_leave(w, from) && pass_on) {
		shard_wait_wake(w, from);
	}
	explore_result(cpu, got >= 0 ? OWNS : ASLEEP);
}

static port_always_inline void put(u32 cpu, bool barrier)
{
	sbm_put(b, cpu);
	if (barrier || READ_ONCE(w->total))
		shard_wait_wake(w, cpu);
}

static void check(uint32_t nr_cpus)
{
	u64 asleep = 0, signals = *shard_wait_signals(w, 0) + *shard_wait_signals(w, 2);

	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		asleep += explore_result_of(cpu) == ASLEEP;
	explore_check(w->total == asleep, "%u waiters are counted, %u sleep",
		      (unsigned int)w->total, (unsigned int)asleep);
	explore_check(sbm_empty(b) || !asleep || signals,
		      "lost wake-up: a bit is set, and %u sleep", (unsigned int)asleep);
	explore_check(signals <= asleep, "a signal for nobody");
}

/* CPU 0 puts; the others wait, alternately in the two shards. */
static void one(uint32_t cpu)
{
	if (cpu)
		wait_near(cpu, cpu == 1 ? 3 : 1, true, true);
	else
		put(0, true);
}

/* CPU 0 puts two bits: neither of two waiters sleeps without a signal. */
static void two(uint32_t cpu)
{
	if (cpu) {
		wait_near(cpu, cpu == 1 ? 3 : 1, true, true);
		return;
	}
	put(0, true);
	put(2, true);
}

/* CPU 0 adds a slot and then wakes a waiter. */
static void grows(uint32_t cpu)
{
	if (!cpu) {
		explore_check(slot_set_grow(slots, 1), "no memory");
		shard_wait_wake(w, 0);
		return;
	}
	shard_wait_join(w, 3);
	explore_result(cpu, slot_claim_near(slots, 3) == 1 ? OWNS : ASLEEP);
}

static void check_grown(uint32_t nr_cpus)
{
	explore_check(explore_result_of(1) == OWNS || *shard_wait_signals(w, 3),
		      "lost wake-up: a slot is free, and a waiter sleeps");
}

static void one_look(uint32_t cpu)
{
	if (cpu)
		wait_near(cpu, 3, false, true);
	else
		put(0, true);
}

static void keeps_it(uint32_t cpu)
{
	if (cpu) {
		wait_near(cpu, cpu == 1 ? 3 : 1, true, false);
		return;
	}
	put(0, true);
	put(2, true);
}

static void no_barrier(uint32_t cpu)
{
	if (cpu)
		wait_near(cpu, 3, true, true);
	else
		put(0, false);
}

#define CASE(name_, title_, kind_, min, max, weak_, body_)                                       \
	{                                                                                        \
		.name = name_, .title = title_, .kind = kind_, .min_cpus = min, .max_cpus = max, \
		.weak = weak_, .setup = setup, .body = body_, .check = check                     \
	}

const struct explore_case explore_wait_cases[] = {
	CASE("wait-one", "a put wakes a waiter, or the waiter finds the bit", "core", 2, 3, false,
	     one),
	CASE("wait-one-weak", "the same in any order", "core", 2, 2, true, one),
	CASE("wait-two", "two puts: no waiter sleeps while a bit is set", "core", 2, 3, false, two),
	{ .name = "wait-grow",
	  .title = "a slot that is added wakes a waiter, or the waiter finds it",
	  .kind = "core",
	  .min_cpus = 2,
	  .max_cpus = 2,
	  .setup = setup_slots,
	  .body = grows,
	  .check = check_grown },
	CASE("planted-wait-look", "planted: a waiter that does not look again after it joined",
	     "planted", 2, 2, false, one_look),
	CASE("planted-wait-leave", "planted: a waiter that leaves with another one's wake-up",
	     "planted", 3, 3, false, keeps_it),
	CASE("planted-wait-barrier", "planted: a waker without a barrier before its look",
	     "planted", 2, 2, true, no_barrier),
	{ 0 },
};
