// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Defines layouts of the idle set, each with one fault that the checker must find. */
#include "cases.h"

static void enter_nothing(struct idle_set *s, u32 cpu)
{
	(void)s;
	(void)cpu;
}

static bool nobody(const struct idle_set *s, u32 this_cpu)
{
	return false;
}

/* Leaves out CPU 5. */
static s64 walk_but_one(const struct idle_set *s, u32 this_cpu, s64 after)
{
	s64 cpu = idle_stock.walk(s, this_cpu, after);

	return cpu == 5 ? idle_stock.walk(s, this_cpu, cpu) : cpu;
}

/* Ends at the last CPU number instead of wrapping around. */
static s64 walk_half(const struct idle_set *s, u32 this_cpu, s64 after)
{
	s64 cpu = idle_stock.walk(s, this_cpu, after);

	return cpu <= (s64)this_cpu ? -1 : cpu;
}

/* Returns only the first CPU. */
static s64 pick_one(const struct idle_set *s, u32 this_cpu, s64 after)
{
	return after < 0 ? idle_stock.pick(s, this_cpu, after) : -1;
}

/* Returns the first CPU twice. */
static s64 pick_twice(const struct idle_set *s, u32 this_cpu, s64 after)
{
	static bool again;
	s64 cpu = idle_stock.pick(s, this_cpu, -1);

	if (after < 0 || (after == cpu && again)) {
		again = after < 0;
		return cpu;
	}
	return idle_stock.pick(s, this_cpu, after);
}

/* Clears the neighbour's bit. */
static void exit_other(struct idle_set *s, u32 cpu)
{
	idle_stock.exit(s, cpu ^ 1);
}

enum { LOST, STUCK, OTHER, EMPTY, SKIPS, HALF, ONE, TWICE };

void plant(struct idle_ops faulty[PLANTED])
{
	static const char *const names[PLANTED] = { "lost",  "stuck", "other", "empty",
						    "skips", "half",  "one",   "twice" };

	for (u32 i = 0; i < PLANTED; i++) {
		faulty[i] = idle_stock;
		faulty[i].name = names[i];
	}
	faulty[LOST].enter = enter_nothing;
	faulty[STUCK].exit = enter_nothing;
	faulty[OTHER].exit = exit_other;
	faulty[EMPTY].any = nobody;
	faulty[SKIPS].walk = walk_but_one;
	faulty[HALF].walk = walk_half;
	faulty[ONE].pick = pick_one;
	faulty[TWICE].pick = pick_twice;
}
