// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests the real layouts of the nohz idle set. Once a CPU has entered, any() and the walk find it.
 * A balancer that clears a flag either sees the reason for which the flag was set, or the flag
 * stays set. Therefore patch 07 of the series need not write a flag that is already set. CPU 0 goes
 * idle, and the last CPU is the balancer. A third CPU enters and exits in the same shard.
 */
#include "port.h"

#include <stdlib.h>

#include "cases.h"
#include "idle/idle_set.h"
#include "linux_sched.h"
#include "objects.h"

enum { TOLD }; /* ghost */

static const struct idle_ops *ops;
static struct idle_set *set;
static u64 *load; /* what CPU 0 stores before it goes idle again */
static uint32_t last;

/* @in: CPU 0 is idle already. */
static void make(const struct idle_ops *layout, uint32_t nr_cpus, bool in)
{
	static const struct shard_cpu cpu[3] = { { .possible = true, .core = 0 },
						 { .possible = true, .core = 1 },
						 { .possible = true, .core = 2 } };
	static const struct shard_topo topo = { 3, cpu };

	ops = layout;
	last = nr_cpus - 1;
	linux_sched_forget(); /* left from the case's last run */
	set = ops->create(&topo, case_plan(3, 3));
	load = port_alloc(sizeof(*load), -1);
	if (!set || !load)
		abort();
	explore_const(set, sizeof(*set));
	explore_name(set->nohz, sizeof(*set->nohz), "nohz");
	explore_name(load, sizeof(*load), "load");
	if (in)
		ops->enter(set, 0);
}

EXPLORE_SETUP(setup_stock, make(&idle_stock, nr_cpus, false))
EXPLORE_SETUP(setup_flags, make(&idle_flags, nr_cpus, false))
EXPLORE_SETUP(setup_slots, make(&idle_slots, nr_cpus, false))
EXPLORE_SETUP(setup_prototype, make(&idle_sbm_first, nr_cpus, false))

EXPLORE_SETUP(setup_in_flags, make(&idle_flags, nr_cpus, true))
/* Linux always writes the flag, after the load of the CPU: x86 orders the two stores. */
EXPLORE_SETUP(setup_in_stock, make(&idle_stock, nr_cpus, true))

static bool walk_finds(u32 cpu)
{
	s64 n = ops->walk(set, 2, -1);

	while (n >= 0 && n != (s64)cpu)
		n = ops->walk(set, 2, n);
	return n == (s64)cpu;
}

static void come_and_go(void)
{
	ops->enter(set, 1);
	ops->exit(set, 1);
}

static void told(uint32_t cpu)
{
	if (!cpu) {
		ops->enter(set, 0);
		explore_ghost_set(TOLD, 1);
	} else if (cpu == last) {
		bool known = explore_ghost_get(TOLD);

		explore_check(!known || ops->any(set, 2), "any() is false after a CPU entered");
		explore_check(!known || walk_finds(0), "a walk missed a CPU that entered before");
	} else {
		come_and_go();
	}
}

/* CPU 0 enters; the last CPU clears the flag and walks. Result: whether the walk found CPU 0. */
static void enter_and_clear(uint32_t cpu)
{
	if (!cpu) {
		ops->enter(set, 0);
	} else if (cpu == last) {
		WRITE_ONCE(set->nohz->needs_update, 0);
		smp_mb();
		explore_result(0, walk_finds(0));
	} else {
		come_and_go();
	}
}

static void check_enter(uint32_t nr_cpus)
{
	explore_check(explore_result_of(0) || READ_ONCE(set->nohz->needs_update),
		      "the walk left a new CPU out, and the flag is down");
}

static void stay(void)
{
	WRITE_ONCE(*load, 1);
	ops->stay(set);
}

static void stay_without_barrier(void)
{
	WRITE_ONCE(*load, 1);
	if (!READ_ONCE(set->nohz->has_blocked))
		WRITE_ONCE(set->nohz->has_blocked, 1);
}

static port_always_inline void stay_and_clear(uint32_t cpu, void (*go_idle)(void))
{
	if (cpu && cpu == last) {
		WRITE_ONCE(set->nohz->has_blocked, 0);
		smp_mb();
		explore_result(0, READ_ONCE(*load));
	} else {
		go_idle();
	}
}

EXPLORE_BODY(stay_right, stay_and_clear(cpu, stay))
EXPLORE_BODY(stay_wrong, stay_and_clear(cpu, stay_without_barrier))

static void check_stay(uint32_t nr_cpus)
{
	explore_check(explore_result_of(0) || READ_ONCE(set->nohz->has_blocked),
		      "the balancer saw no load, and the flag is down");
}

#define CASE(what, says, set_up, runs, last_check) \
	EXPLORE_CASE(what, says, "core", 2, 3, set_up, runs, last_check)

const struct explore_case explore_idle_cases[] = {
	CASE("idle-told-stock", "a CPU in Linux's idle set is found", setup_stock, told, NULL),
	CASE("idle-told", "a CPU in the published idle set is found", setup_prototype, told, NULL),
	CASE("idle-told-slots", "a CPU in the set of nohz-slots is found", setup_slots, told, NULL),
	CASE("idle-enter-slots", "the set of nohz-slots: no new CPU is forgotten", setup_slots,
	     enter_and_clear, check_enter),
	CASE("idle-enter-stock", "Linux's idle set: no new CPU is forgotten", setup_stock,
	     enter_and_clear, check_enter),
	CASE("idle-enter", "the published idle set: no new CPU is forgotten", setup_prototype,
	     enter_and_clear, check_enter),
	CASE("idle-stay-stock", "Linux's idle set: no decaying load is forgotten", setup_in_stock,
	     stay_right, check_stay),
	CASE("idle-enter-flags", "Linux's set, flags up are not written: no new CPU is forgotten",
	     setup_flags, enter_and_clear, check_enter),
	CASE("idle-stay-flags",
	     "Linux's set, flags up are not written: no decaying load is forgotten", setup_in_flags,
	     stay_right, check_stay),
	EXPLORE_CASE("planted-idle-stay",
		     "planted: the flag is read without a barrier after the load", "planted", 2, 3,
		     setup_in_flags, stay_wrong, check_stay),
	{ 0 },
};
