// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests the real summary (core/shard_summary.c) under the real bitmap. Once sbm_set() has returned,
 * no later search reports empty, whatever other searches clean meanwhile. At the end the summary
 * covers every bit that is set.
 *
 * check/cases/meson.build compiles this file twice, each time with all of core/:
 *
 *   as on x86   smp_mb__after_atomic() is empty, atomic operations are full barriers
 *   POSTED      with real barriers, for the model in which atomic operations without a
 *               result wait in the store buffer: only the barriers order them there
 *
 * On x86 "returned" means a moment in real time; a ghost variable stands for it. In the posted
 * model the setter reports its return through memory, with a release store. In the last case a
 * ghost variable reports it in both models, because shard_summary_mark() ends with a barrier.
 * Without that barrier the bit may still be in the buffer when the function returns.
 */
#include "port.h"

#include "objects.h"

#ifdef POSTED
#define CASES	 explore_summary_posted_cases
#define PREFIX	 "posted-summary"
#define REALTIME false
#else
#define POSTED	 false
#define CASES	 explore_summary_cases
#define PREFIX	 "summary"
#define REALTIME true
#endif

extern const struct explore_case CASES[];

enum { RETURNED }; /* ghost: sbm_set() has returned */

static u64 *told; /* whether sbm_set() has returned, stored by the setter */
static struct sbm *b;

/* Every shard's line is empty, and its summary bit still set: the first search cleans. */
static void stale(u32 nr_plan_cpus, u32 per_shard)
{
	told = port_alloc(sizeof(*told), -1);
	explore_name(told, sizeof(*told), "told");
	b = case_sbm(case_plan(nr_plan_cpus, per_shard), SBM_SUMMARY);
	for (u32 cpu = 0; cpu < nr_plan_cpus; cpu++) {
		sbm_set(b, cpu);
		sbm_clear(b, cpu);
	}
}

EXPLORE_SETUP(setup_one_shard, stale(4, 4))
EXPLORE_SETUP(setup_two_shards, stale(4, 2))

static void setup_occupied(uint32_t nr_cpus)
{
	stale(4, 4);
	sbm_set(b, 0);
}

/* Set the bit; searches must find it once this has returned. */
static port_always_inline void set_and_tell(u32 cpu, bool realtime)
{
	sbm_set(b, cpu);
	if (realtime)
		explore_ghost_set(RETURNED, 1);
	else
		smp_store_release(told, 1);
}

static port_always_inline void search(bool realtime)
{
	bool returned = realtime ? explore_ghost_get(RETURNED) : smp_load_acquire(told);
	bool empty = sbm_empty(b);

	explore_check(!returned || !empty,
		      "a search that began after sbm_set() returned found the set empty");
}

static void check_found(uint32_t nr_cpus)
{
	explore_check(sbm_test(b, 0), "the bit is gone");
	explore_check(!sbm_empty(b), "the bit is set, and the set is called empty for ever");
}

/*
 * One setter; all other CPUs search and clean. With 3 or more CPUs one of them can search while
 * another one cleans.
 */
static void set_search(uint32_t cpu)
{
	if (!cpu)
		set_and_tell(0, REALTIME);
	else
		search(REALTIME);
}

/* "Returned" in real time, in either model. */
static void set_search_realtime(uint32_t cpu)
{
	if (!cpu)
		set_and_tell(0, true);
	else
		search(true);
}

/* The set becomes empty and occupied again during the searches. */
static void clear_set_search(uint32_t cpu)
{
	if (cpu) {
		search(REALTIME);
		return;
	}
	sbm_clear(b, 0);
	set_and_tell(0, REALTIME);
}

/* Two setters of one word; each may find the summary bit that the other one set. */
static void two_set(uint32_t cpu)
{
	if (cpu == 1)
		sbm_set(b, 1);
	else
		set_search(cpu);
}

/* Setters of two shards: cleaning one shard does not change the other one's bits. */
static void two_shards(uint32_t cpu)
{
	if (cpu == 1) {
		sbm_set(b, 2);
		explore_check(!sbm_empty(b), "a CPU does not find its own bit");
	} else {
		set_search(cpu);
	}
}

static void check_both(uint32_t nr_cpus)
{
	check_found(nr_cpus);
	explore_check(sbm_weight(b) == 2, "%u bits are found of 2", sbm_weight(b));
}

/*
 * While sbm_set() still runs, it is not guaranteed that the bit, once found, stays found: one
 * search may find it, and a later one miss it. The first search read the summary before a third CPU
 * cleaned it, and then finds the bit in the line. The later one reads the cleaned summary, in which
 * the setter has not yet named the shard. (Strict linearisability would rule this out.)
 */
static void set_search_twice(uint32_t cpu)
{
	bool first;

	if (!cpu) {
		set_and_tell(0, REALTIME);
		return;
	}
	first = sbm_empty(b);
	explore_check(first || !sbm_empty(b), "found, and then not found any more");
}

/* The searcher cleans, sets its own bit and searches: set after cleaning, on one CPU. */
static void all_set(uint32_t cpu)
{
	sbm_empty(b);
	sbm_set(b, cpu);
	explore_check(!sbm_empty(b), "CPU %u does not find its own bit", cpu);
}

static u64 *level; /* of CPU 1 */

static void setup_not_named(uint32_t nr_cpus)
{
	level = port_alloc(sizeof(*level), -1);
	explore_name(level, sizeof(*level), "level");
	b = case_sbm(case_plan(4, 4), SBM_SUMMARY);
}

/*
 * CPU 0 sets its bit and then reads what CPU 1 stores before it looks at the summary. CPU 2 names
 * the shard at the same time, so CPU 0 may find it named.
 */
static void set_then_look(uint32_t cpu)
{
	if (!cpu) {
		sbm_set(b, 0);
		explore_result(0, READ_ONCE(*level));
	} else if (cpu == 1) {
		WRITE_ONCE(*level, 1);
		smp_mb();
		explore_result(1, !sbm_seems_empty(b));
	} else {
		sbm_set(b, 1);
	}
}

static void check_one_saw(uint32_t nr_cpus)
{
	explore_check(explore_result_of(0) || explore_result_of(1),
		      "CPU 1 saw no bit, and CPU 0 saw what was before");
}

const struct explore_case CASES[] = {
	EXPLORE_CASE(PREFIX "-set-search", "after sbm_set() returned, no search reports empty",
		     "core", 2, 4, setup_one_shard, set_search, check_found, .posted = POSTED),
	EXPLORE_CASE(PREFIX "-clear-set-search",
		     "no search reports empty, while the set goes empty and occupied again", "core",
		     2, 4, setup_occupied, clear_set_search, check_found, .posted = POSTED),
	EXPLORE_CASE(PREFIX "-two-set", "no search reports empty, with two setters of one shard",
		     "core", 3, 4, setup_one_shard, two_set, check_both, .posted = POSTED),
	EXPLORE_CASE(PREFIX "-two-shards",
		     "no search reports empty, with setters of two shards in one summary word",
		     "core", 2, 4, setup_two_shards, two_shards, check_both, .posted = POSTED),
	EXPLORE_CASE(PREFIX "-all-set", "each CPU searches, sets its own bit and finds it", "core",
		     2, 3, setup_one_shard, all_set, check_found, .posted = POSTED),
	EXPLORE_CASE(PREFIX "-not-named",
		     "a setter and a searcher see each other, while another CPU marks the shard",
		     "core", 2, 3, setup_not_named, set_then_look, check_one_saw, .posted = POSTED),
	EXPLORE_CASE(PREFIX "-search-twice",
		     "not promised: found before sbm_set() returned, not found by a later search",
		     "limit", 2, 3, setup_one_shard, set_search_twice, check_found,
		     .posted = POSTED),
	EXPLORE_CASE(PREFIX "-realtime",
		     "after sbm_set() returned, no search reports empty, in real time", "core", 2,
		     4, setup_one_shard, set_search_realtime, check_found, .posted = POSTED),
	{ 0 },
};
