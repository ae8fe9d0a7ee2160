// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Litmus tests: small programs whose outcomes under x86-TSO and sequential consistency are known.
 * They check no property, but test the explorer itself: check/tests/explore_litmus.py compares the
 * sets of outcomes that the searches find, for these and for some of litmus_weak.c.
 *
 * All locations start at 0; rN are the values loaded.
 */
#include "port.h"

#include "../explore/explore_case.h"
#include "cases.h"

struct locations {
	u64 x port_cacheline_aligned;
	u64 y port_cacheline_aligned;
	u8 bytes[8] port_cacheline_aligned;
};

static struct locations *s;

static void setup(uint32_t nr_cpus)
{
	s = port_alloc(sizeof(*s), -1);
	explore_name(&s->x, 8, "x");
	explore_name(&s->y, 8, "y");
	explore_name(&s->bytes, 8, "bytes");
}

/* The final x and y, as results 0 and 1. */
static void check_memory(uint32_t nr_cpus)
{
	explore_result(0, READ_ONCE(s->x));
	explore_result(1, READ_ONCE(s->y));
}

/* SB in which each CPU first reads its own store: despite forwarding r0 = r1 = 0 is possible. */
static void sb_forward(uint32_t cpu)
{
	u64 *mine = cpu ? &s->y : &s->x, *other = cpu ? &s->x : &s->y;

	WRITE_ONCE(*mine, 1);
	explore_result(2 * cpu, READ_ONCE(*mine));
	explore_result(2 * cpu + 1, READ_ONCE(*other));
}

/* Two stores to one location and two readers: both readers see one order of the stores. */
static void coherence(uint32_t cpu)
{
	if (cpu < 2) {
		WRITE_ONCE(s->x, cpu + 1);
		return;
	}
	explore_result(2 * cpu - 2, READ_ONCE(s->x));
	explore_result(2 * cpu - 1, READ_ONCE(s->x));
}

/* No locked addition is lost. */
static void increments(uint32_t cpu)
{
	port_add64(&s->x, 1);
	explore_result(2 + cpu, port_fetch_add64(&s->x, 1));
}

/* Compare-and-exchange from 0: one CPU wins, and all others see the winner's value. */
static void elect(uint32_t cpu)
{
	explore_result(2 + cpu, port_cmpxchg64(&s->x, 0, cpu + 1));
}

/* Adjacent byte stores, read as a word: any subset, then all. */
static void bytes(uint32_t cpu)
{
	WRITE_ONCE(s->bytes[cpu], 1);
	explore_result(cpu, port_le64(READ_ONCE(*(u64 *)s->bytes)));
}

/* A plain access against another CPU's atomic one: every search reports a data race. */
static void race(uint32_t cpu)
{
	if (cpu)
		explore_result(0, READ_ONCE(s->x));
	else
		s->x = 1;
}

/* The same accesses, ordered by message passing: no race. */
static void no_race(uint32_t cpu)
{
	if (!cpu) {
		s->x = 1;
		smp_store_release(&s->y, 1);
	} else if (smp_load_acquire(&s->y)) {
		explore_result(0, s->x);
	}
}

#define LITMUS(name_, cpus, fn, memory, ...)                                                 \
	EXPLORE_CASE("litmus-" name_, "litmus test " name_, "litmus", cpus, cpus, setup, fn, \
		     memory, .results = { __VA_ARGS__ })

const struct explore_case explore_litmus_cases[] = {
	LITMUS("sb-forward", 2, sb_forward, NULL, "own0", "r0", "own1", "r1"),
	LITMUS("coherence", 4, coherence, check_memory, "x", "y", "r2", "r3", "r4", "r5"),
	LITMUS("increments", 3, increments, check_memory, "x", "y", "r0", "r1", "r2"),
	LITMUS("elect", 3, elect, check_memory, "x", "y", "r0", "r1", "r2"),
	LITMUS("bytes", 3, bytes, NULL, "r0", "r1", "r2"),
	LITMUS("race", 2, race, NULL, "r0"),
	LITMUS("no-race", 2, no_race, NULL, "r0"),
	{ 0 },
};
