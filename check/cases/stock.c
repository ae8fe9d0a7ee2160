// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests the real layout of Linux 6.12 (model/layouts/), compiled here again so that a case can call
 * its parts in a wrong order. A CPU must enter its new level before it leaves its old one. It must
 * set its bit in the overload mask before it raises the count.
 */
#include "port.h"

#include <stdlib.h>

#include "cases.h"
#include "objects.h"

#define LAYOUT		       case_stock
#define RD_NAME		       "stock"
#define ROOT_DOMAIN	       struct root_domain_stock
#define VEC_COUNT(root, level) ((root)->cpupri.pri_to_cpu[level].count)
#define VEC_MASK(root, level)  ((root)->cpupri.pri_to_cpu[level].mask)
#define MASKS		       MASKS_ONE
#define COUNTS		       COUNTS_ONE
#include "linux_rd.inc"

extern const struct rd_ops rd_case_stock;

static struct rd *rd;
static const unsigned long both = 3;

/* CPU 0 at level 2, CPU 1 at level 3, CPU 2 at 60. */
static void setup(uint32_t nr_cpus)
{
	static struct shard_cpu cpu[3];
	const struct shard_topo topo = { 3, cpu };
	const unsigned long span = 7;

	for (s32 i = 0; i < 3; i++)
		cpu[i] = (struct shard_cpu){ .core = i, .possible = true };
	rd = rd_case_stock.create(&topo, NULL, &span);
	if (!rd)
		abort();
	set_level(rd, 0, 2);
	set_level(rd, 1, 3);
	set_level(rd, 2, 60);
	explore_const(rd, sizeof(*rd));
	explore_const(rd->active, sizeof(unsigned long));
	explore_name(rd->root, sizeof(*rd->root), "root_domain");
	explore_name(rd->slab.base, rd->slab.bytes, "masks");
	explore_name(rd->root->cpupri.cpu_to_pri, 3 * sizeof(s32), "cpu_to_pri");
}

/* Searches for CPU 0 alone, and with CPU 1: CPU 0 is at its old or at its new level. */
static void search(void)
{
	const unsigned long alone = 1;
	unsigned long found = 0;
	int level = find(rd, 5, 2, &alone, &found, NULL, NULL) - 1;

	explore_check((level == 2 || level == 4) && found == 1,
		      "CPU 0 rose from 2 to 4 and is at level %d", level);
	level = find(rd, 5, 2, &both, &found, NULL, NULL) - 1;
	explore_check((level == 2 && found == 1) || (level == 3 && found == 2),
		      "the lowest level is %d at CPUs %#lx", level, found);
}

static void rise(uint32_t cpu)
{
	if (!cpu)
		set_level(rd, 0, 4);
	else
		search();
}

/*
 * Planted: leaves the old level first. Or raises the count at the new level, then leaves the old
 * level, and then sets the bit.
 */
static port_always_inline void rise_wrong(u32 cpu, bool count_first)
{
	if (cpu) {
		search();
		return;
	}
	if (count_first)
		atomic_inc32(&VEC_COUNT(rd->root, 4));
	atomic_dec32(&VEC_COUNT(rd->root, 2));
	vec_clear(rd, 2, 0);
	vec_set(rd, 4, 0);
	if (!count_first)
		atomic_inc32(&VEC_COUNT(rd->root, 4));
}

EXPLORE_BODY(rise_out_first, rise_wrong(cpu, false))
EXPLORE_BODY(rise_count_first, rise_wrong(cpu, true))

/* A query that reports other CPUs leads to one of them; CPU 0 stays overloaded. */
static void told(void)
{
	u64 from;
	u32 state = overloaded(rd, 2, &from);

	explore_check(!state || next(rd, 2, from, -1) == 0,
		      "others are overloaded, and none is found");
}

static port_always_inline void overloads(u32 cpu, bool count_first)
{
	if (cpu) {
		told();
	} else if (count_first) {
		atomic_inc32(overload_count(rd, 0));
		overload_mark(rd, 0, true);
	} else {
		overload_set_cpu(rd, 0, 1);
	}
}

EXPLORE_BODY(overload, overloads(cpu, false))
EXPLORE_BODY(overload_count_first, overloads(cpu, true))

#define CASE(name_, title_, kind_, body_) \
	EXPLORE_CASE(name_, title_, kind_, 2, 3, setup, body_, NULL)

const struct explore_case explore_stock_cases[] = {
	CASE("stock-rise", "Linux's map: a CPU that rises is never missed", "core", rise),
	CASE("stock-overload", "Linux's overload set: a CPU that sees the count sees the bit",
	     "core", overload),
	CASE("planted-stock-out-first", "planted: leave the old level before entering the new one",
	     "planted", rise_out_first),
	CASE("planted-stock-count-first", "planted: count at the new level before its bit",
	     "planted", rise_count_first),
	CASE("planted-stock-overload", "planted: overload count before its bit", "planted",
	     overload_count_first),
	{ 0 },
};
