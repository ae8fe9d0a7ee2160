// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The real byte map: adjacent byte stores, and searches that read eight bytes at once while levels
 * rise and fall. Stores wait in store buffers, so a search may see a new level late. It must see
 * either the old level or the new one.
 */
#include "port.h"

#include "cases.h"
#include "objects.h"

static struct bytemap *m;

static void setup_zero(uint32_t nr_cpus)
{
	m = case_bytemap(case_plan(4, 4), 0);
}

/* All CPUs write their own byte; all bytes are in one word. */
static void neighbours(uint32_t cpu)
{
	unsigned long found = 0;
	u32 own;

	if (cpu < 2) /* if all 4 CPUs stored twice, there would be 1.8 million executions */
		bytemap_set(m, cpu, 1);
	bytemap_set(m, cpu, (u8)(10 + cpu));
	/* Loads the whole word; some of its bytes come from the CPU's store buffer. */
	own = bytemap_find_equal(m, (u8)(10 + cpu), NULL, cpu, &found, NULL);
	explore_result(cpu, bytemap_get(m, (cpu + 1) % 4));
	explore_check(own == 1 && found == 1ul << cpu, "CPU %u's value is found at CPUs %#lx", cpu,
		      found);
}

static void check_neighbours(uint32_t nr_cpus)
{
	for (uint32_t c = 0; c < nr_cpus; c++)
		explore_check(bytemap_get(m, c) == 10 + c, "CPU %u's byte holds %u in the end", c,
			      bytemap_get(m, c));
}

/* Levels: CPU 0 rises 2 -> 6, plan CPUs 1 to 3 are at 4; shards are {0, 1} and {2, 3}. */
static void setup_levels(uint32_t nr_cpus)
{
	m = case_bytemap(case_plan(4, 2), 4);
	bytemap_set(m, 0, 2);
}

/* CPU 0 rises; every search sees it at its old or at its new level. */
static void rise(uint32_t cpu)
{
	unsigned long found = 0;
	s64 first;
	int lowest;

	if (!cpu) {
		bytemap_set(m, 0, 6);
		return;
	}
	lowest = bytemap_find_min(m, 128, NULL, 3, &found, &first);
	explore_result(cpu - 1, (uint64_t)lowest);
	explore_check((lowest == 2 && found == 0x1 && first == 0) ||
			      (lowest == 4 && found == 0xe && first == 2),
		      "the lowest level is %d at CPUs %#lx, nearest %d", lowest, found, (int)first);
}

/* The same with a search by limit: both levels of CPU 0 are below 7. */
static void rise_below(uint32_t cpu)
{
	unsigned long found = 0;
	u32 nr;

	if (!cpu) {
		bytemap_set(m, 0, 6);
		return;
	}
	nr = bytemap_find_below(m, 7, NULL, 3, &found, NULL);
	explore_check(nr == 4 && found == 0xf, "%u CPUs found, %#lx: one is at no level", nr,
		      found);
	nr = bytemap_find_below(m, 3, NULL, 3, &found, NULL);
	explore_result(cpu - 1, nr);
	explore_check(nr <= 1 && found == nr, "%u CPUs found below 3, %#lx", nr, found);
}

/* A reader that saw the new level does not see the old one in a later search. */
static void rise_order(uint32_t cpu)
{
	u32 old, then;

	if (!cpu) {
		bytemap_set(m, 0, 3);
		bytemap_set(m, 0, 6);
		return;
	}
	old = bytemap_get(m, 0);
	then = bytemap_find_equal(m, 2, NULL, 0, NULL, NULL);
	explore_result(cpu - 1, old);
	explore_check(old == 2 || !then, "a level of %u was seen, and 2 after it", old);
}

/* CPU 0 rises while CPU 1 falls; the search's mask contains only these two. */
static void rise_and_fall(uint32_t cpu)
{
	const unsigned long allowed = 0x3;
	unsigned long found = 0;
	int lowest;

	if (cpu < 2) {
		bytemap_set(m, cpu, cpu ? 1 : 6);
		return;
	}
	lowest = bytemap_find_min(m, 128, &allowed, 0, &found, NULL);
	explore_result(cpu - 2, (uint64_t)lowest);
	explore_check((lowest == 2 && found == 1) || (lowest == 1 && found == 2) ||
			      (lowest == 4 && found == 2),
		      "the lowest level is %d at CPUs %#lx", lowest, found);
}

#define CORE(name_, title_, min, setup_, body_, check_, ...)                                    \
	{                                                                                       \
		.name = name_, .title = title_, .kind = "core", .min_cpus = min, .max_cpus = 4, \
		.setup = setup_, .body = body_, .check = check_, .results = {                   \
			__VA_ARGS__                                                             \
		}                                                                               \
	}

const struct explore_case explore_bytemap_cases[] = {
	CORE("bytemap-neighbours", "a byte store leaves the other bytes of the word alone", 2,
	     setup_zero, neighbours, check_neighbours, "next0", "next1", "next2", "next3"),
	CORE("bytemap-rise", "a search while a level rises sees the old or the new one", 2,
	     setup_levels, rise, NULL, "lowest1", "lowest2", "lowest3"),
	CORE("bytemap-rise-below", "the same for a search by limit", 2, setup_levels, rise_below,
	     NULL, "below1", "below2", "below3"),
	CORE("bytemap-rise-order", "a level once seen is not unseen", 2, setup_levels, rise_order,
	     NULL, "level1", "level2", "level3"),
	CORE("bytemap-rise-fall", "one level rises, one falls, each is old or new", 3, setup_levels,
	     rise_and_fall, NULL, "lowest1", "lowest2"),
	{ 0 },
};
