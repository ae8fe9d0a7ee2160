// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests the order of two updates, as in a map with counters and masks, in right and wrong forms.
 *
 * Count and mask: a level has a count and a mask. Readers load the count first, and the mask only
 * if the count is not 0. A CPU that enters sets its bit before it raises the count. A CPU that
 * leaves lowers the count before it clears its bit. So a reader that sees the count sees a bit. All
 * updates are locked operations, and so in order on x86; for other machines Linux has
 * smp_mb__before_atomic() between them. A search has read barriers after each count and each level.
 *
 * Level rise: a CPU moves from a low level to a higher one, while a search reads the levels from
 * the lowest. The CPU enters the new level before it leaves the old one. So a search that misses it
 * at the old level finds it at the new one.
 */
#include "port.h"

#include "cases.h"
#include "objects.h"

#define LEVELS 3

struct level {
	u64 count port_cacheline_aligned;
	u64 mask port_cacheline_aligned;
};

static struct level *level;

static void setup(uint32_t nr_cpus)
{
	static const char *const names[2 * LEVELS] = { "count 0", "mask 0",  "count 1",
						       "mask 1",  "count 2", "mask 2" };

	level = port_alloc(LEVELS * sizeof(*level), -1);
	for (u32 i = 0; i < LEVELS; i++) {
		explore_name(&level[i].count, 8, names[2 * i]);
		explore_name(&level[i].mask, 8, names[2 * i + 1]);
	}
}

static void enter(u32 cpu, struct level *l)
{
	port_or64(&l->mask, 1ull << cpu);
	smp_mb__before_atomic();
	port_add64(&l->count, 1);
}

static void enter_count_first(u32 cpu, struct level *l)
{
	port_add64(&l->count, 1);
	smp_mb__before_atomic();
	port_or64(&l->mask, 1ull << cpu);
}

static void leave(u32 cpu, struct level *l)
{
	port_add64(&l->count, -1ull);
	smp_mb__before_atomic();
	port_and64(&l->mask, ~(1ull << cpu));
}

/* Return the CPUs of a level. */
static u64 find(const struct level *l)
{
	u64 mask = 0;
	bool any = READ_ONCE(l->count);

	smp_rmb();
	if (any)
		mask = READ_ONCE(l->mask);
	/*
	 * Without this barrier, machines weaker than x86 could read the next level before this one.
	 * It pairs with smp_mb__after_atomic() in rise().
	 */
	smp_rmb();
	return mask;
}

/* CPU 0 enters, the others search. */
static port_always_inline void count_mask(u32 cpu, bool count_first)
{
	u64 count;

	if (!cpu) {
		if (count_first)
			enter_count_first(0, &level[0]);
		else
			enter(0, &level[0]);
		return;
	}
	count = READ_ONCE(level[0].count);
	explore_result(cpu - 1, count);
	if (!count)
		return;
	smp_rmb();
	explore_check(READ_ONCE(level[0].mask),
		      "the count says that there is a CPU, and the mask is empty");
}

EXPLORE_BODY(count_mask_right, count_mask(cpu, false))
EXPLORE_BODY(count_mask_wrong, count_mask(cpu, true))

static void setup_rise(uint32_t nr_cpus)
{
	setup(nr_cpus);
	enter(0, &level[0]);
}

static port_always_inline void rise(u32 cpu, bool old_first)
{
	u64 found = 0;

	if (!cpu) {
		if (old_first)
			leave(0, &level[0]);
		enter(0, &level[1]);
		if (!old_first) {
			smp_mb__after_atomic(); /* the new count, then the old one */
			leave(0, &level[0]);
		}
		return;
	}
	for (u32 i = 0; i < LEVELS && !found; i++)
		found = find(&level[i]);
	explore_check(found == 1, "a search finds the CPU at no level while it rises");
}

EXPLORE_BODY(rise_right, rise(cpu, false))
EXPLORE_BODY(rise_wrong, rise(cpu, true))

#define CASE(name_, title_, kind_, setup_, body_, ...) \
	EXPLORE_CASE(name_, title_, kind_, 2, 4, setup_, body_, NULL, .results = { __VA_ARGS__ })

const struct explore_case explore_order_cases[] = {
	CASE("pattern-count-mask", "a CPU that sees the count sees the bit", "pattern", setup,
	     count_mask_right, "count1", "count2", "count3"),
	CASE("planted-count-mask", "planted: count raised before the mask bit is set", "planted",
	     setup, count_mask_wrong, "count1", "count2", "count3"),
	CASE("pattern-level-rise", "a CPU that rises is found at its old or its new level",
	     "pattern", setup_rise, rise_right, NULL),
	CASE("planted-level-rise", "planted: the old level is left before the new one is entered",
	     "planted", setup_rise, rise_wrong, NULL),
	{ 0 },
};
