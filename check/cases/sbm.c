// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests atomic bits, exclusive test-and-set, and walks during changes of the real bitmap. In the
 * cases of walks one simulated CPU walks a bitmap of 4 CPUs in 2 shards while 1 to 3 others change
 * it. There the simulated CPUs are not the bitmap's CPUs.
 */
#include "port.h"

#include "cases.h"
#include "objects.h"

static struct sbm *b;

static void make(u32 per_shard, unsigned int flags, u32 bits)
{
	b = case_sbm(case_plan(4, per_shard), flags);
	for (u32 cpu = 0; cpu < 4; cpu++)
		if (bits >> cpu & 1)
			sbm_set(b, cpu);
}

EXPLORE_SETUP(setup_one_shard, make(4, 0, 0))
EXPLORE_SETUP(setup_summary, make(4, SBM_SUMMARY, 0))

/* Exactly one of the competing CPUs gets the bit. */
static void claim(uint32_t cpu)
{
	explore_result(cpu, !sbm_test_and_set(b, 0));
}

static void check_claim(uint32_t nr_cpus)
{
	uint64_t winners = 0;

	for (uint32_t c = 0; c < nr_cpus; c++)
		winners += explore_result_of(c);
	explore_check(winners == 1, "%u CPUs got the bit", (unsigned int)winners);
	explore_check(sbm_test(b, 0), "the bit is not set");
	explore_check(sbm_weight(b) == 1, "the bit is not found");
}

/* Test-and-set and test-and-clear as a lock: there is one holder at a time. */
static void lock(uint32_t cpu)
{
	if (sbm_test_and_set(b, 0))
		return;
	explore_check(!explore_ghost_get(0), "two CPUs hold the bit");
	explore_ghost_set(0, 1);
	explore_ghost_set(0, 0);
	explore_check(sbm_test_and_clear(b, 0), "the holder's bit is gone");
	explore_result(cpu, 1);
}

static void check_lock(uint32_t nr_cpus)
{
	uint64_t held = 0;

	for (uint32_t c = 0; c < nr_cpus; c++)
		held += explore_result_of(c);
	explore_check(held >= 1, "no CPU got the bit");
	explore_check(sbm_empty(b), "the bit is still set");
}

/* Every CPU works on its own bit; all bits are in one word. */
static void neighbours(uint32_t cpu)
{
	sbm_set(b, cpu);
	explore_check(sbm_test(b, cpu), "CPU %u does not see its own bit", cpu);
	sbm_clear(b, cpu);
	explore_check(!sbm_test(b, cpu), "CPU %u still sees its own bit", cpu);
	sbm_set(b, cpu);
}

static void check_neighbours(uint32_t nr_cpus)
{
	explore_check(sbm_weight(b) == nr_cpus, "%u of %u bits are set", sbm_weight(b), nr_cpus);
}

/*
 * Walks. Plan CPUs 0 and 3 are set throughout, 1 and 2 change; shards are {0, 1} and {2, 3}.
 */
#define THROUGHOUT 0x9u

EXPLORE_SETUP(setup_walk, make(2, 0, THROUGHOUT))
EXPLORE_SETUP(setup_walk_summary, make(2, SBM_SUMMARY, THROUGHOUT))

/* Shard 0 has no bits except the writers', but its summary bit is still set. */
static void setup_walk_stale(uint32_t nr_cpus)
{
	setup_walk_summary(nr_cpus);
	sbm_clear(b, 0);
}

static void change(uint32_t cpu)
{
	u32 bit = cpu == 1 ? 1 : 2;

	sbm_set(b, bit);
	sbm_clear(b, bit);
	if (cpu == 3)
		sbm_set(b, bit);
}

static void judge(u32 visited, u32 twice, u32 throughout)
{
	explore_check(!twice, "a walk visits CPUs %#x twice", twice);
	explore_check((visited & throughout) == throughout,
		      "a walk visits %#x and misses some of %#x", visited, throughout);
	explore_result(0, visited);
}

#define VISIT(cpu, visited, twice)                \
	do {                                      \
		(twice) |= (visited)&1u << (cpu); \
		(visited) |= 1u << (cpu);         \
	} while (0)

/* @each: the loop of the walk, whose CPU is c */
#define WALKS(name_, throughout_, each_)            \
	static void name_(uint32_t cpu)             \
	{                                           \
		u32 visited = 0, twice = 0, c;      \
                                                    \
		if (cpu) {                          \
			change(cpu);                \
			return;                     \
		}                                   \
		each_ VISIT(c, visited, twice);     \
		judge(visited, twice, throughout_); \
	}

static const unsigned long mask = 0xb;

WALKS(walk, THROUGHOUT, sbm_for_each_cpu(c, it, b))
/* From the middle of a shard, which the walk reads at both ends. */
WALKS(walk_wrap, THROUGHOUT, sbm_for_each_cpu_wrap(c, it, b, 3))
WALKS(walk_and_wrap, THROUGHOUT, sbm_for_each_cpu_and_wrap(c, it, b, &mask, 1))
WALKS(walk_stale, THROUGHOUT & ~1u, sbm_for_each_cpu_wrap(c, it, b, 1))

/* The walk that keeps its state between calls, one search per step. */
static void walk_next(uint32_t cpu)
{
	u32 visited = 0, twice = 0, steps = 0;
	s64 c;

	if (cpu) {
		change(cpu);
		return;
	}
	for (c = sbm_first_cpu_wrap(b, 3); c >= 0 && steps < 8;
	     c = sbm_next_cpu_wrap(b, (u32)c, 3)) {
		VISIT(c, visited, twice);
		steps++;
	}
	judge(visited, twice, THROUGHOUT);
}

/* The result of walk_and_wrap(). */
static void check_mask(uint32_t nr_cpus)
{
	explore_check(!(explore_result_of(0) & ~mask), "a walk leaves its mask");
}

#define CORE(name_, title_, min, max, setup_, body_, check_) \
	EXPLORE_CASE(name_, title_, "core", min, max, setup_, body_, check_)

#define WALK(name_, title_, setup_, body_, check_) \
	EXPLORE_CASE(name_, title_, "core", 2, 4, setup_, body_, check_, .results = { "visited" })

const struct explore_case explore_sbm_cases[] = {
	CORE("sbm-claim", "sbm_test_and_set() lets exactly one CPU have the bit", 2, 4,
	     setup_one_shard, claim, check_claim),
	CORE("sbm-claim-summary", "sbm-claim with a summary", 2, 4, setup_summary, claim,
	     check_claim),
	CORE("sbm-lock", "test-and-set and test-and-clear exclude each other", 2, 4,
	     setup_one_shard, lock, check_lock),
	CORE("sbm-neighbours", "set and clear leave the other bits of the word alone", 2, 3,
	     setup_one_shard, neighbours, check_neighbours),
	WALK("sbm-walk", "a walk visits what is set throughout, once", setup_walk, walk, NULL),
	WALK("sbm-walk-wrap", "sbm-walk, wrapping around from the middle of a shard", setup_walk,
	     walk_wrap, NULL),
	WALK("sbm-walk-and-wrap", "sbm-walk-wrap within an ordinary mask", setup_walk,
	     walk_and_wrap, check_mask),
	WALK("sbm-walk-next", "sbm-walk with one call per CPU", setup_walk, walk_next, NULL),
	WALK("sbm-walk-summary", "a walk with a summary visits what is set throughout, once",
	     setup_walk_summary, walk_wrap, NULL),
	WALK("sbm-walk-stale", "sbm-walk-summary while the walk cleans up", setup_walk_stale,
	     walk_stale, NULL),
	{ 0 },
};
