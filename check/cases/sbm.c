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
static const struct shard_plan *plan;

static void setup_one_shard(uint32_t nr_cpus)
{
	plan = case_plan(4, 4);
	b = case_sbm(plan, 0);
}

static void setup_summary(uint32_t nr_cpus)
{
	plan = case_plan(4, 4);
	b = case_sbm(plan, SBM_SUMMARY);
}

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

static void setup_walk(uint32_t nr_cpus)
{
	plan = case_plan(4, 2);
	b = case_sbm(plan, 0);
	sbm_set(b, 0);
	sbm_set(b, 3);
}

static void setup_walk_summary(uint32_t nr_cpus)
{
	plan = case_plan(4, 2);
	b = case_sbm(plan, SBM_SUMMARY);
	sbm_set(b, 0);
	sbm_set(b, 3);
}

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

static void walk(uint32_t cpu)
{
	u32 visited = 0, twice = 0, c;

	if (cpu) {
		change(cpu);
		return;
	}
	sbm_for_each_cpu(c, it, b)
		VISIT(c, visited, twice);
	judge(visited, twice, THROUGHOUT);
}

/* A walk from the middle of a shard, which reads this shard at both ends of the walk. */
static void walk_wrap(uint32_t cpu)
{
	u32 visited = 0, twice = 0, c;

	if (cpu) {
		change(cpu);
		return;
	}
	sbm_for_each_cpu_wrap(c, it, b, 3)
		VISIT(c, visited, twice);
	judge(visited, twice, THROUGHOUT);
}

static void walk_and_wrap(uint32_t cpu)
{
	const unsigned long mask = 0xb;
	u32 visited = 0, twice = 0, c;

	if (cpu) {
		change(cpu);
		return;
	}
	sbm_for_each_cpu_and_wrap(c, it, b, &mask, 1)
		VISIT(c, visited, twice);
	judge(visited, twice, THROUGHOUT);
	explore_check(!(visited & 4), "a walk leaves its mask");
}

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

static void walk_stale(uint32_t cpu)
{
	u32 visited = 0, twice = 0, c;

	if (cpu) {
		change(cpu);
		return;
	}
	sbm_for_each_cpu_wrap(c, it, b, 1)
		VISIT(c, visited, twice);
	judge(visited, twice, THROUGHOUT & ~1u);
}

#define CORE(name_, title_, min, max, setup_, body_, check_) \
	EXPLORE_CASE(name_, title_, "core", min, max, setup_, body_, check_)

#define WALK(name_, title_, setup_, body_)                                                    \
	{                                                                                     \
		.name = name_, .title = title_, .kind = "core", .min_cpus = 2, .max_cpus = 4, \
		.setup = setup_, .body = body_, .results = {                                  \
			"visited"                                                             \
		}                                                                             \
	}

const struct explore_case explore_sbm_cases[] = {
	CORE("sbm-claim", "sbm_test_and_set() lets exactly one CPU have the bit", 2, 4,
	     setup_one_shard, claim, check_claim),
	CORE("sbm-claim-summary", "sbm-claim with a summary", 2, 4, setup_summary, claim,
	     check_claim),
	CORE("sbm-lock", "test-and-set and test-and-clear exclude each other", 2, 4,
	     setup_one_shard, lock, check_lock),
	CORE("sbm-neighbours", "set and clear leave the other bits of the word alone", 2, 3,
	     setup_one_shard, neighbours, check_neighbours),
	WALK("sbm-walk", "a walk visits what is set throughout, once", setup_walk, walk),
	WALK("sbm-walk-wrap", "sbm-walk, wrapping around from the middle of a shard", setup_walk,
	     walk_wrap),
	WALK("sbm-walk-and-wrap", "sbm-walk-wrap within an ordinary mask", setup_walk,
	     walk_and_wrap),
	WALK("sbm-walk-next", "sbm-walk with one call per CPU", setup_walk, walk_next),
	WALK("sbm-walk-summary", "a walk with a summary visits what is set throughout, once",
	     setup_walk_summary, walk_wrap),
	WALK("sbm-walk-stale", "sbm-walk-summary while the walk cleans up", setup_walk_stale,
	     walk_stale),
	{ 0 },
};
