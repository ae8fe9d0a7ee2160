// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Layouts of the idle set with one fault each: the checker must find it. */
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

static struct idle_set *create(const struct shard_topo *topo, const struct shard_plan *plan)
{
	return idle_stock.create(topo, plan);
}

static void destroy(struct idle_set *s)
{
	idle_stock.destroy(s);
}

static void enter(struct idle_set *s, u32 cpu)
{
	idle_stock.enter(s, cpu);
}

static void leave(struct idle_set *s, u32 cpu)
{
	idle_stock.exit(s, cpu);
}

static bool any(const struct idle_set *s, u32 this_cpu)
{
	return idle_stock.any(s, this_cpu);
}

static bool test(const struct idle_set *s, u32 cpu)
{
	return idle_stock.test(s, cpu);
}

static s64 pick(const struct idle_set *s, u32 this_cpu, s64 after)
{
	return idle_stock.pick(s, this_cpu, after);
}

static s64 walk(const struct idle_set *s, u32 this_cpu, s64 after)
{
	return idle_stock.walk(s, this_cpu, after);
}

/* A correct layout; a field that follows replaces one of these. */
#define RIGHT                                                                                   \
	.create = create, .destroy = destroy, .enter = enter, .stay = idle_stay, .exit = leave, \
	.any = any, .test = test, .pick = pick, .walk = walk

#pragma GCC diagnostic ignored "-Woverride-init"
static const struct idle_ops lost = { .name = "lost", RIGHT, .enter = enter_nothing };
static const struct idle_ops stuck = { .name = "stuck", RIGHT, .exit = enter_nothing };
static const struct idle_ops other = { .name = "other", RIGHT, .exit = exit_other };
static const struct idle_ops empty = { .name = "empty", RIGHT, .any = nobody };
static const struct idle_ops skips = { .name = "skips", RIGHT, .walk = walk_but_one };
static const struct idle_ops half = { .name = "half", RIGHT, .walk = walk_half };
static const struct idle_ops one = { .name = "one", RIGHT, .pick = pick_one };
static const struct idle_ops twice = { .name = "twice", RIGHT, .pick = pick_twice };

const struct idle_ops *const planted[] = { &lost, &stuck, &other, &empty, &skips,
					   &half, &one,	  &twice, NULL };
