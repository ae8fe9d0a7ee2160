// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests that at the end no waiter for a slot sleeps without a signal while a slot is free. A waiter
 * that finds no signal counts as asleep; a signal that comes later would wake its thread. Planted
 * cases contain the faults of Linux's sbitmap. In one a waiter does not look again after it joined;
 * in another a waiter leaves with a wake-up that was for another waiter.
 */
#include "port.h"

#include <stdlib.h>

#include "cases.h"
#include "objects.h"
#include "shard_signal.h"
#include "slot_claim.h"

static struct shard_wait *w;
static struct slot_set *slots;

/* Plan CPUs 0 and 1 are in one shard, 2 and 3 in the other. */
static void setup(uint32_t nr_cpus)
{
	const struct shard_plan *plan = case_plan(4, 2);

	slots = slot_set_alloc(plan, 4, SLOT_EMPTY);
	w = shard_wait_alloc(plan);
	if (!w || !slots)
		abort();
	explore_const(slot_own_of(slots, plan->nr_cpus - 1), slots->bytes);
	explore_const(slots->part[0], slots->part[0]->bytes);
	explore_name(slots->part[0]->word[0], 8, "slots 0 and 1");
	explore_name(slots->part[0]->word[1], 8, "slots 2 and 3");
	explore_const(w, offsetof(struct shard_wait, noted));
	explore_name(&w->noted, sizeof(w->noted), "noted");
	explore_name(&w->first, sizeof(w->first), "first");
	explore_const(w->line, (2 * plan->nr_shards + plan->nr_llcs) * sizeof(*w->line));
	explore_name(w->line[0], 8, "waiters 0");
	explore_name(w->line[1], 8, "waiters 1");
	explore_name(w->in_vain[0], 8, "in vain 0");
	explore_name(w->in_vain[1], 8, "in vain 1");
}

/* Waiters were in both lines, and have left. */
static void setup_kept(uint32_t nr_cpus)
{
	setup(nr_cpus);
	w->noted = 2;
	*w->line[0] = *w->line[1] = SHARD_WAIT_NOTED;
}

/* The next waker that finds nobody removes the notes. */
static void setup_left(uint32_t nr_cpus)
{
	setup_kept(nr_cpus);
	*w->in_vain[0] = *w->in_vain[1] = SHARD_WAIT_KEEP - 1;
}

static void setup_together(uint32_t nr_cpus)
{
	setup(nr_cpus);
	slot_put(slots, 2);
}

/* A set of one slot, which is taken. */
static void setup_slots(uint32_t nr_cpus)
{
	setup(nr_cpus);
	slots = slot_set_alloc(w->plan, 1, 0);
	if (!slots || slot_claim_near(slots, 0))
		abort();
	explore_name(slots, sizeof(*slots), "slot set");
}

enum { OWNS = 1, ASLEEP };

static port_always_inline void wait_near(u32 cpu, u32 from, bool again, bool pass_on)
{
	s64 got;

	if (!again && slot_claim_near(slots, from) >= 0) {
		explore_result(cpu, OWNS);
		return;
	}
	shard_wait_join(w, from);
	got = again ? slot_claim_near(slots, from) : -1;
	if (got < 0 && shard_wait_woken(w, from)) {
		got = slot_claim_near(slots, from);
		if (got < 0) { /* another waiter got the slot: wait again */
			shard_wait_join(w, from);
			got = slot_claim_near(slots, from);
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
	slot_put(slots, cpu);
	if (barrier || (u32)READ_ONCE(w->noted))
		shard_wait_wake(w, cpu);
}

static void check(uint32_t nr_cpus)
{
	u64 asleep = 0, signals = *shard_wait_signals(w, 0) + *shard_wait_signals(w, 2);
	u64 words = *w->line[0] + *w->line[1], noted = 0;

	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		asleep += explore_result_of(cpu) == ASLEEP;
	for (u32 i = 0; i < 2; i++)
		noted += !!(*w->line[i] & SHARD_WAIT_NOTED);
	explore_check((words & ~SHARD_WAIT_NOTED) >> 32 == asleep, "%u waiters sleep",
		      (unsigned int)asleep);
	explore_check((u32)w->noted == noted, "%u lines are counted, %u noted",
		      (unsigned int)w->noted, (unsigned int)noted);
	explore_check(!slot_set_nr_free(slots) || !asleep || signals,
		      "lost wake-up: a slot is free, and %u sleep", (unsigned int)asleep);
	explore_check(signals <= asleep, "a signal for nobody");
}

/* CPU 0 puts one slot or two; the others wait, alternately in the two shards. */
static port_always_inline void wakes(u32 cpu, bool both, bool again, bool pass_on, bool barrier)
{
	if (cpu) {
		wait_near(cpu, cpu == 1 ? 3 : 1, again, pass_on);
		return;
	}
	put(0, barrier);
	if (both)
		put(2, true);
}

EXPLORE_BODY(one, wakes(cpu, false, true, true, true))
EXPLORE_BODY(two, wakes(cpu, true, true, true, true))
EXPLORE_BODY(one_look, wakes(cpu, false, false, true, true))
EXPLORE_BODY(keeps_it, wakes(cpu, true, true, false, true))
EXPLORE_BODY(no_barrier, wakes(cpu, false, true, true, false))

/* Two wait in one line: CPU 1 for slot 2, CPU 2 for slot 3. CPU 0 puts one of them. */
static port_always_inline void one_line(u32 cpu, u32 to)
{
	if (!cpu) {
		put(to, true);
		return;
	}
	shard_wait_join(w, 1);
	if (!slot_take(slots, 1 + cpu)) {
		explore_result(cpu, ASLEEP);
		return;
	}
	explore_result(cpu, OWNS);
	if (shard_wait_leave(w, 1))
		shard_wait_wake(w, 1);
}

EXPLORE_BODY(together, one_line(cpu, 3))

/* CPU 0 puts a slot for nobody, then one for CPU 1. */
static void left(uint32_t cpu)
{
	if (!cpu)
		put(3, true);
	one_line(cpu, 2);
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

/*
 * The waiter that asks to be the first, for a slot of the other shard: its claim begins with a
 * load. A claim that begins with a locked instruction would hide a missing barrier.
 */

#define ASKS 0 /* ghost: CPU 1 has asked */

static u32 *given;

static void setup_first(uint32_t nr_cpus)
{
	setup_slots(nr_cpus);
	for (u32 i = 0; i < slots->part[0]->nr_words; i++)
		explore_name(slots->part[0]->word[i], 8, "slots");
	given = port_alloc(PORT_CACHELINE, -1);
	if (!given)
		abort();
	explore_name(given, sizeof(*given), "given");
}

/* Result of CPU 1: it owns the slot, or sleeps. */
static port_always_inline void asks(bool barrier)
{
	s64 got;

	if (barrier)
		shard_wait_ask(w, given);
	else
		WRITE_ONCE(w->first, (uintptr_t)given);
	explore_ghost_set(ASKS, 1);
	got = slot_claim_near(slots, 0);
	if (got < 0)
		got = (s64)smp_load_acquire(given) - 1;
	explore_result(1, got == 0 ? OWNS : ASLEEP);
}

/* CPU 0 puts, CPU 1 asks, CPU 2 claims without a wait. Result of CPU 2: it owns the slot. */
static port_always_inline void first(u32 cpu, bool barrier, bool gives)
{
	bool before;

	if (cpu == 1) {
		asks(barrier);
	} else if (cpu == 0) {
		before = explore_ghost_get(ASKS);
		explore_result(3, before);
		if (!gives || !shard_wait_give(w, 1)) {
			slot_put(slots, 0);
			shard_wait_wake(w, 0);
		}
	} else if (slot_claim_near(slots, 0) == 0) {
		explore_result(2, OWNS);
	}
}

EXPLORE_BODY(first_gets, first(cpu, true, true))
EXPLORE_BODY(first_no_barrier, first(cpu, false, true))
EXPLORE_BODY(first_passed_over, first(cpu, true, false))

static void check_first(uint32_t nr_cpus)
{
	bool owns = explore_result_of(1) == OWNS, other = explore_result_of(2) == OWNS;
	u32 late = *given;

	explore_check(owns || other || late || !slot_set_nr_free(slots),
		      "lost wake-up: a slot is free, and the first waiter sleeps");
	explore_check(!owns || !other, "two CPUs own a slot");
	explore_check(
		!explore_result_of(3) || !other,
		"passed over: a put began after a waiter asked, and another CPU got the slot");
	explore_check(!late || late == 1 || late == SHARD_WAIT_AGAIN, "%u was given", late);
}

#define CASE(name_, title_, kind_, min, max, weak_, setup_, body_, check_) \
	EXPLORE_CASE(name_, title_, kind_, min, max, setup_, body_, check_, .weak = weak_)

const struct explore_case explore_wait_cases[] = {
	CASE("wait-one", "a put wakes a waiter, or the waiter finds the slot", "core", 2, 3, false,
	     setup, one, check),
	CASE("wait-two", "two puts: no waiter sleeps while a slot is free", "core", 2, 3, false,
	     setup, two, check),
	CASE("wait-together", "two waiters of one line: the first one notes it", "core", 3, 3,
	     false, setup_together, together, check),
	CASE("wait-kept", "a waker looks beyond its own line, which had waiters", "core", 2, 2,
	     true, setup_kept, left, check),
	CASE("wait-left", "a waiter comes while a waker removes notes of lines without waiters",
	     "core", 2, 2, true, setup_left, left, check),
	CASE("wait-first", "a waiter that asks gets the next slot, before any claim", "core", 2, 3,
	     true, setup_first, first_gets, check_first),
	CASE("wait-grow", "a slot that is added wakes a waiter, or the waiter finds it", "core", 2,
	     2, false, setup_slots, grows, check_grown),
	CASE("planted-wait-look", "planted: a waiter that does not look again after it joined",
	     "planted", 2, 2, false, setup, one_look, check),
	CASE("planted-wait-leave", "planted: a waiter that leaves with another one's wake-up",
	     "planted", 3, 3, false, setup, keeps_it, check),
	CASE("planted-wait-barrier", "planted: a waker without a barrier before its look",
	     "planted", 2, 2, true, setup, no_barrier, check),
	CASE("planted-wait-ask", "planted: a waiter that asks without a barrier", "planted", 2, 3,
	     true, setup_first, first_no_barrier, check_first),
	CASE("planted-wait-pass", "planted: a put that gives the first waiter nothing", "planted",
	     3, 3, false, setup_first, first_passed_over, check_first),
	{ 0 },
};
