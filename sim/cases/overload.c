// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The real overload set: once set() returned nobody calls it empty, though somebody may be
 * tidying the summary; and who is told of another CPU finds it.
 */
#include "port.h"

#include <stdlib.h>

#include "cases.h"
#include "objects.h"
#include "overload.h"

enum { RETURNED }; /* ghost: overload_set() is done */

static struct overload *o;
static bool passers_by; /* others than CPU 0 come and go */

/* Two shards; both were overloaded once, so that the summary names them, and are not now. */
static void setup(uint32_t nr_cpus)
{
	passers_by = false;
	o = overload_alloc(case_plan(4, 2));
	if (!o)
		abort();
	for (u32 cpu = 0; cpu < 4; cpu++) {
		overload_set(o, cpu, true);
		overload_clear(o, cpu);
	}
	explore_const(o, sizeof(*o));
	explore_const(o->map, o->map->bytes);
	explore_const(o->summary, offsetof(struct shard_summary, word));
	explore_name(o->map->line[0], PORT_CACHELINE, "line 0");
	explore_name(o->map->line[1], PORT_CACHELINE, "line 1");
	explore_name(o->tidied, 2 * sizeof(u64), "tidied");
	explore_name(o->summary->word, sizeof(u64), "summary");
}

static void setup_neighbours(uint32_t nr_cpus)
{
	setup(nr_cpus);
	passers_by = true;
}

static void judge_as(bool tidies)
{
	bool returned = explore_ghost_get(RETURNED);
	u32 state = tidies ? overload_query_tidy(o, 3, 1) : overload_query(o, 3);

	explore_check(!returned || state == OVERLOAD_WIDE,
		      "overload_set() had returned, and a query says %u", state);
	/* A passer-by may have been who was meant, and be gone. */
	if (state == OVERLOAD_WIDE && (returned || !passers_by))
		explore_check(overload_next_wide(o, -1) == 0,
			      "a wide CPU is told of, and CPU 0 is not found");
}

static void judge(void)
{
	judge_as(false);
}

/* CPU 0 becomes overloaded, and all others ask, and tidy what they looked at in vain. */
static void set_query_tidy(uint32_t cpu)
{
	if (cpu) {
		judge_as(true);
	} else {
		overload_set(o, 0, true);
		explore_ghost_set(RETURNED, 1);
	}
}

/* The same where it was overloaded before, and comes back. */
static void reset_query_tidy(uint32_t cpu)
{
	if (!cpu) {
		overload_set(o, 0, true);
		overload_clear(o, 0);
	}
	set_query_tidy(cpu);
}

/* CPU 0 becomes overloaded, 1 tidies its shard, 2 asks from the other shard, 3 tidies as well. */
static void set_tidy_query(uint32_t cpu)
{
	switch (cpu) {
	case 0:
		overload_set(o, 0, true);
		explore_ghost_set(RETURNED, 1);
		break;
	case 2:
		judge();
		break;
	default:
		overload_tidy(o, 0);
	}
}

static void check_named(uint32_t nr_cpus)
{
	explore_check(overload_query(o, 3) == OVERLOAD_WIDE && overload_next_wide(o, -1) == 0,
		      "CPU 0 is overloaded, and called nobody for ever");
}

/* Two CPUs of one shard come and go; who stays is seen. */
static void neighbours(uint32_t cpu)
{
	switch (cpu) {
	case 0:
		overload_set(o, 0, true);
		explore_ghost_set(RETURNED, 1);
		break;
	case 1:
		overload_set(o, 1, true);
		overload_clear(o, 1);
		break;
	default:
		judge();
	}
}

/* Only me: nobody else ever was. */
static void only_me(uint32_t cpu)
{
	u32 state;

	if (cpu) {
		overload_tidy(o, 0);
		return;
	}
	overload_set(o, 0, true);
	state = overload_query(o, 0);
	explore_check(state == OVERLOAD_SELF, "alone, and told %u", state);
	overload_clear(o, 0);
	state = overload_query(o, 0);
	explore_check(!state, "nobody is, and told %u", state);
}

/*
 * CPU 0 is overloaded with tasks of its shard, then with one that may leave it: 1, of the same
 * shard, sees it throughout, 2, of the other one, once the second call returned; 3 tidies.
 */
static void widens(uint32_t cpu)
{
	switch (cpu) {
	case 0:
		overload_set(o, 0, false);
		explore_ghost_set(RETURNED, 1);
		overload_set(o, 0, true);
		explore_ghost_set(RETURNED, 2);
		break;
	case 1: {
		bool returned = explore_ghost_get(RETURNED);
		u32 state = overload_query(o, 1);

		explore_check(!returned || state == OVERLOAD_NEAR,
			      "a neighbour is overloaded, and a query says %u", state);
		explore_check(state != OVERLOAD_NEAR || overload_next_near(o, 0, -1) == 0,
			      "a neighbour is told of, and not found");
		break;
	}
	case 2: {
		bool returned = explore_ghost_get(RETURNED) == 2;
		u32 state = overload_query(o, 2);

		explore_check(!returned || state == OVERLOAD_WIDE,
			      "CPU 0 is wide, and a query says %u", state);
		explore_check(state != OVERLOAD_WIDE || overload_next_wide(o, -1) == 0,
			      "a wide CPU is told of, and not found");
		break;
	}
	default:
		overload_tidy(o, 0);
	}
}

/* Planted: the byte is left in the store buffer. */
static void no_barrier(uint32_t cpu)
{
	if (!cpu) {
		bytemap_set(o->map, 0, OVERLOAD_BYTE_WIDE);
		explore_ghost_set(RETURNED, 1);
	} else {
		judge();
	}
}

#define CASE(name_, title_, kind_, min, max, setup_, body_, check_)                              \
	{                                                                                        \
		.name = name_, .title = title_, .kind = kind_, .min_cpus = min, .max_cpus = max, \
		.setup = setup_, .body = body_, .check = check_                                  \
	}

const struct explore_case explore_overload_cases[] = {
	CASE("overload-emptiness", "once set() returned the set is not empty, and the CPU is found",
	     "core", 3, 4, setup, set_tidy_query, check_named),
	CASE("overload-query-tidy", "the same while queries tidy", "core", 2, 4, setup,
	     set_query_tidy, check_named),
	CASE("overload-query-tidy-back", "the same where the CPU comes, goes and comes back",
	     "core", 2, 3, setup_neighbours, reset_query_tidy, check_named),
	CASE("overload-neighbours", "the same while a neighbour in the line comes and goes", "core",
	     3, 3, setup_neighbours, neighbours, check_named),
	CASE("overload-only-me", "nobody, and only me, are exact while others tidy", "core", 2, 3,
	     setup, only_me, NULL),
	CASE("overload-widens", "a CPU that becomes wide stays seen nearby, and is seen afar",
	     "core", 3, 4, setup, widens, check_named),
	CASE("planted-overload-set", "planted: set() returns with its byte in the store buffer",
	     "planted", 2, 2, setup, no_barrier, NULL),
	{ 0 },
};
