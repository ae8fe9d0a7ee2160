// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The real priority map, and the real overload set where a CPU that falls meets a queue that
 * becomes overloaded:
 *
 *   F1  lower own level          P1  store "overloaded"
 *   F2  full barrier             P2  full barrier
 *   F3  look for overloaded CPUs P3  look for CPUs of lower level
 *
 * F3 sees P1 or P3 sees F1: a CPU pulls or pushes the task. In other shards F3 sees only what the
 * summary names. P1's CPU names its shard after P2, and has a barrier after that (S5), because
 * another CPU may have named it. Each planted case omits one barrier.
 */
#include "port.h"

#include <stdlib.h>

#include "cases.h"
#include "objects.h"
#include "cpupri.h"
#include "overload.h"

#define CPUS 24u /* CPUs of the plan: more than a search looks up one by one */

static struct cpupri *cp;
static struct overload *rto;
static const unsigned long everyone = (1ul << CPUS) - 1;

/* All CPUs at level 4, except CPU 0 at 2. */
static void setup_map(u32 nr, u32 per_shard)
{
	cp = port_alloc(sizeof(*cp), -1);
	if (!cp || !cpupri_init(cp, case_plan(nr, per_shard)))
		abort();
	for (u32 cpu = 0; cpu < nr; cpu++)
		cpupri_set(cp, cpu, cpu ? 4 : 2);
	explore_const(cp, sizeof(*cp));
	explore_const(cp->map, cp->map->bytes);
	for (u32 s = 0; s < cp->map->plan->nr_shards; s++)
		explore_name(cp->map->line[s], PORT_CACHELINE, s ? "levels 1" : "levels 0");
}

static void setup_few(uint32_t nr_cpus)
{
	setup_map(4, 2);
}

static void setup_one_line(uint32_t nr_cpus)
{
	setup_map(4, 4);
}

static void setup_many(uint32_t nr_cpus)
{
	setup_map(CPUS, CPUS / 2);
}

/* CPU 0 rises; a search finds it at 2, or the others at 4. */
static void rise(uint32_t cpu)
{
	unsigned long found = 0, others = everyone & ((1ul << cp->nr_cpus) - 1) & ~1ul;
	int level;

	if (!cpu) {
		cpupri_set(cp, 0, 6);
		return;
	}
	level = cpupri_find(cp, 50, 1, &everyone, &everyone, &found) - 1;
	explore_result(cpu - 1, (uint64_t)level);
	explore_check((level == 2 && found == 1) || (level == 4 && found == others),
		      "the lowest level is %d at CPUs %#lx", level, found);
}

/* The same with only CPU 0 allowed: the search finds it at 2 or at 6. */
static void rise_alone(uint32_t cpu)
{
	const unsigned long allowed = 1;
	unsigned long found = 0;
	int level;

	if (!cpu) {
		cpupri_set(cp, 0, 6);
		return;
	}
	level = cpupri_find(cp, 50, 1, &allowed, &everyone, &found) - 1;
	explore_check((level == 2 || level == 6) && found == 1,
		      "CPU 0 rose from 2 to 6 and is at level %d", level);
	explore_check(cpupri_find(cp, 50, 1, &allowed, &everyone, NULL) > 0,
		      "CPU 0 rose from 2 to 6 and is at no level");
}

/* CPU 0 falls to CPUPRI_NORMAL while CPU 1 rises; a CPU of another shard does a near search. */
static void fall_and_rise(uint32_t cpu)
{
	unsigned long found = 0;
	int level;

	if (cpu < 2) {
		cpupri_set(cp, cpu, cpu ? 6 : CPUPRI_NORMAL);
		return;
	}
	level = cpupri_find_near(cp, 50, cp->nr_cpus - 1, &everyone, &everyone, &found, NULL,
				 NULL) -
		1;
	explore_check((level == 0 || level == 2) && found == 1,
		      "the lowest level is %d at CPUs %#lx", level, found);
}

/* -------- pull or push -------- */

/* All CPUs busy; the summary of the overload set names no shard yet. */
static void setup_not_named(uint32_t nr_cpus)
{
	setup_map(4, 2);
	for (u32 cpu = 0; cpu < 4; cpu++)
		cpupri_set(cp, cpu, 50);
	rto = overload_alloc(cp->map->plan);
	if (!rto)
		abort();
	explore_const(rto, sizeof(*rto));
	explore_const(rto->map, rto->map->bytes);
	explore_name(rto->map->line[0], PORT_CACHELINE, "overloaded 0");
	explore_name(rto->map->line[1], PORT_CACHELINE, "overloaded 1");
	explore_name(rto->summary->word, sizeof(u64), "summary");
}

static void setup_both(uint32_t nr_cpus)
{
	setup_not_named(nr_cpus);
	/* The summary names both shards, as it does after a while. */
	for (u32 cpu = 0; cpu < 4; cpu++) {
		overload_set(rto, cpu, true);
		overload_clear(rto, cpu);
	}
}

/* Result of CPU 0: whether it saw a CPU to pull from. Of another CPU: whether it saw CPU 0 free. */
static port_always_inline void fall(bool barrier)
{
	cpupri_set(cp, 0, CPUPRI_NORMAL);
	if (barrier)
		explore_result(0, overload_query(rto, 0, 0) != 0);
	else
		explore_result(0, bytemap_get(rto->map, 2) || bytemap_get(rto->map, 3));
}

static port_always_inline void push(u32 cpu, bool barrier)
{
	const unsigned long allowed = 1;

	if (barrier)
		overload_set(rto, cpu, true);
	else
		bytemap_set(rto->map, cpu, OVERLOAD_BYTE_WIDE);
	explore_result(cpu, cpupri_find(cp, 50, cpu, &allowed, &everyone, NULL) > 0);
}

/* CPUs 1 and 2 of the program are CPUs 2 and 3 of the plan, in the other shard. */
static void pull_or_push(uint32_t cpu)
{
	if (!cpu)
		fall(true);
	else
		push(cpu + 1, true);
}

static void no_query_barrier(uint32_t cpu)
{
	if (!cpu)
		fall(false);
	else
		push(cpu + 1, true);
}

static void no_set_barrier(uint32_t cpu)
{
	if (!cpu)
		fall(true);
	else
		push(cpu + 1, false);
}

/*
 * The summary names no shard at first, and several CPUs may add the same shard at once. Of the
 * search (P3) only the load that races with F1 is left, to keep the case small.
 */
static void not_named(uint32_t cpu)
{
	if (!cpu) {
		fall(true);
		return;
	}
	overload_set(rto, cpu + 1, true);
	explore_result(cpu + 1, cpupri_get(cp, 0) == CPUPRI_NORMAL);
}

/* overload_set() without the barrier for a summary that names the shard already. */
static void not_named_no_barrier(uint32_t cpu)
{
	u64 *word = shard_summary_word(rto->summary, 1);
	u64 occupied = shard_summary_occupied(1);

	if (!cpu) {
		fall(true);
		return;
	}
	bytemap_set(rto->map, cpu + 1, OVERLOAD_BYTE_WIDE);
	smp_mb();
	if (!(READ_ONCE(*word) & occupied))
		shard_summary_mark(word, occupied);
	explore_result(cpu + 1, cpupri_get(cp, 0) == CPUPRI_NORMAL);
}

static void check_served(uint32_t nr_cpus)
{
	for (u32 cpu = 1; cpu < nr_cpus; cpu++)
		explore_check(
			explore_result_of(0) || explore_result_of(cpu + 1),
			"CPU 0 is free and saw no overloaded CPU, CPU %u is overloaded and saw "
			"CPU 0 busy: its task waits",
			cpu + 1);
}

#define CASE(name_, title_, kind_, min, max, setup_, body_, check_)                              \
	{                                                                                        \
		.name = name_, .title = title_, .kind = kind_, .min_cpus = min, .max_cpus = max, \
		.setup = setup_, .body = body_, .check = check_                                  \
	}

const struct explore_case explore_cpupri_cases[] = {
	CASE("cpupri-rise-few", "a CPU that rises is found at one of its levels, few CPUs allowed",
	     "core", 2, 4, setup_few, rise, NULL),
	CASE("cpupri-rise-line", "the same on a machine of one line", "core", 2, 4, setup_one_line,
	     rise, NULL),
	CASE("cpupri-rise-many", "the same with many CPUs allowed, shard by shard", "core", 2, 3,
	     setup_many, rise, NULL),
	CASE("cpupri-rise-alone", "a CPU that rises is never missed by a search for it alone",
	     "core", 2, 4, setup_few, rise_alone, NULL),
	CASE("cpupri-near", "a near search while one CPU falls and another rises", "core", 3, 3,
	     setup_many, fall_and_rise, NULL),
	CASE("cpupri-pull-or-push", "a CPU falls, another becomes overloaded: one sees the other",
	     "core", 2, 3, setup_both, pull_or_push, check_served),
	CASE("cpupri-not-named", "the same while another CPU names the shard in the summary",
	     "core", 2, 3, setup_not_named, not_named, check_served),
	{ .name = "planted-cpupri-not-named",
	  .title = "planted: no barrier after a summary that names the shard",
	  .kind = "planted",
	  .min_cpus = 3,
	  .max_cpus = 3,
	  .weak = true,
	  .setup = setup_not_named,
	  .body = not_named_no_barrier,
	  .check = check_served },
	CASE("planted-cpupri-query",
	     "planted: no barrier between falling and asking for overloaded CPUs", "planted", 2, 3,
	     setup_both, no_query_barrier, check_served),
	CASE("planted-cpupri-set", "planted: no barrier between being overloaded and searching",
	     "planted", 2, 3, setup_both, no_set_barrier, check_served),
	{ 0 },
};
