// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The real overload set. Once overload_set() has returned, no query reports the set empty, even
 * while another CPU tidies the summary. A query that reports another CPU is followed by a walk that
 * finds one.
 */
#include "port.h"

#include <stdlib.h>

#include "cases.h"
#include "objects.h"
#include "overload.h"

enum { RETURNED }; /* ghost: overload_set() has returned */

static struct overload *o;
static bool passers_by; /* CPUs other than CPU 0 come and go */

/*
 * Two shards. All CPUs were overloaded, so the summary names both shards; none is overloaded now.
 */
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

static void judge_in(u64 period)
{
	bool returned = explore_ghost_get(RETURNED);
	u32 state = overload_query(o, 3, period);

	explore_check(!returned || state == OVERLOAD_WIDE,
		      "overload_set() had returned, and a query says %u", state);
	/* Otherwise the query may have seen a passer-by, which has left since. */
	if (state == OVERLOAD_WIDE && (returned || !passers_by))
		explore_check(overload_next_wide(o, -1) == 0, "CPU 0 is wide, and is not found");
}

/* Query in a period in which all shards count as tidied, so that the query tidies nothing. */
static void judge(void)
{
	judge_in(0);
}

/* Query, and tidy a shard that the query found empty. */
static void tidy(void)
{
	overload_query(o, 3, 1);
}

/* CPU 0 becomes overloaded. All other CPUs query, and tidy the shards that they found empty. */
static void set_query_tidy(uint32_t cpu)
{
	if (cpu) {
		judge_in(1);
	} else {
		overload_set(o, 0, true);
		explore_ghost_set(RETURNED, 1);
	}
}

/* The same for a CPU 0 that was overloaded before. */
static void reset_query_tidy(uint32_t cpu)
{
	if (!cpu) {
		overload_set(o, 0, true);
		overload_clear(o, 0);
	}
	set_query_tidy(cpu);
}

/* CPU 0 becomes overloaded, 1 tidies its shard, 2 queries from the other one, 3 tidies. */
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
		tidy();
	}
}

static void check_named(uint32_t nr_cpus)
{
	explore_check(overload_query(o, 3, 0) == OVERLOAD_WIDE && overload_next_wide(o, -1) == 0,
		      "CPU 0 is overloaded, and no query finds it in the end");
}

/* Two CPUs of one shard come and go; queries see the one that stays. */
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

/* Only this CPU is ever overloaded. */
static void only_me(uint32_t cpu)
{
	u32 state;

	if (cpu) {
		tidy();
		return;
	}
	overload_set(o, 0, true);
	state = overload_query(o, 0, 0);
	explore_check(state == OVERLOAD_SELF, "only CPU 0 is overloaded, and a query says %u",
		      state);
	overload_clear(o, 0);
	state = overload_query(o, 0, 0);
	explore_check(!state, "no CPU is overloaded, and a query says %u", state);
}

/*
 * CPU 0 is overloaded with tasks of its shard, then with one that may leave it. CPU 1, of the same
 * shard, sees it throughout. CPU 2, of the other shard, sees it once the second call has returned.
 * CPU 3 tidies.
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
		u32 state = overload_query(o, 1, 0);

		explore_check(!returned || state == OVERLOAD_NEAR,
			      "a neighbour is overloaded, and a query says %u", state);
		explore_check(state != OVERLOAD_NEAR || overload_next_near(o, 0, -1) == 0,
			      "a neighbour is overloaded, and is not found");
		break;
	}
	case 2: {
		bool returned = explore_ghost_get(RETURNED) == 2;
		u32 state = overload_query(o, 2, 0);

		explore_check(!returned || state == OVERLOAD_WIDE,
			      "CPU 0 is wide, and a query says %u", state);
		explore_check(state != OVERLOAD_WIDE || overload_next_wide(o, -1) == 0,
			      "a wide CPU is overloaded, and is not found");
		break;
	}
	default:
		tidy();
	}
}

/* Planted: the byte stays in the store buffer. */
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
	CASE("overload-only-me", "the answers none and self are exact while others tidy", "core", 2,
	     3, setup, only_me, NULL),
	CASE("overload-widens", "a CPU that becomes wide stays seen nearby, and is seen afar",
	     "core", 3, 4, setup, widens, check_named),
	CASE("planted-overload-set", "planted: set() returns with its byte in the store buffer",
	     "planted", 2, 2, setup, no_barrier, NULL),
	{ 0 },
};
