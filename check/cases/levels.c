// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The levels and the set of overloaded queues of the kernel series (core/sched/), combined as in
 * the layout "shard". A CPU falls while a queue becomes overloaded, or while an overloaded queue
 * gets a task that may leave its shard, or a task of higher level:
 *
 *   F1  lower own level                P1  store the queue's highest waiting level, and its state
 *   F2  full barrier, in rto_others()  P2  full barrier, in push_rt_task()
 *   F3  look for overloaded queues     P3  search for CPUs of lower level
 *
 * F3 sees P1 or P3 sees F1. Each planted case omits one barrier.
 *
 * A task of higher level does not change the state of an overloaded queue, so no barrier can come
 * with a change of state. Linux has no explicit barrier there. On x86 the increment by which
 * push_rt_task() takes a reference on the task is a barrier.
 */
#include "port.h"

#include <stdlib.h>

#include "cases.h"
#include "objects.h"

#define LAYOUT	     case_shard
#define RD_NAME	     "shard"
#define ROOT_DOMAIN  struct root_domain_rto
#define MASKS	     MASKS_NONE
#define COUNTS	     COUNTS_NONE
#define ONLY_WAITING true
#include "linux_rd.h"

extern const struct rd_ops rd_case_shard;

static struct rd *rd;
static const unsigned long everyone = 0xf;

/* CPU 2's queue: its highest waiting level, and the reference count of that task. */
static u32 *highest_next, *usage;

/* Two shards of two CPUs. CPU 0 at level 2, the others at 4. */
static void setup(uint32_t nr_cpus)
{
	static struct shard_cpu cpu[4];
	static const struct shard_topo topo = { 4, cpu };

	(void)nr_cpus;
	for (s32 i = 0; i < 4; i++)
		cpu[i] = (struct shard_cpu){ .llc = i / 2, .core = i, .possible = true };
	linux_sched_forget(); /* left from the case's last run */
	rd = rd_case_shard.create(&topo, NULL, &everyone);
	if (!rd || !cpus_share_shard(0, 1) || cpus_share_shard(1, 2))
		abort();
	for (u32 i = 0; i < 4; i++)
		set_level(rd, i, i ? 4 : 2);
	explore_const(rd, sizeof(*rd));
	explore_const(rd->active, sizeof(unsigned long));
	explore_const(cpu_slot, 4 * sizeof(*cpu_slot));
	explore_const(slot_run, 4 * sizeof(*slot_run));
	explore_const(&rd->root->cpupri, sizeof(rd->root->cpupri));
	explore_name(rd->root->cpupri.level, nr_cpu_slots, "levels");
	explore_const(slot_cpu, nr_cpu_slots * sizeof(*slot_cpu));
	explore_name(rd->root->rto.state, nr_cpu_slots, "overloaded");
	explore_name(&rd->root->rto.leaving, sizeof(u32), "leaving");
}

static void setup_overloaded(uint32_t nr_cpus)
{
	setup(nr_cpus);
	set_level(rd, 0, 60);
	overload_set_cpu(rd, 2, false);
}

static void setup_busy(uint32_t nr_cpus)
{
	setup(nr_cpus);
	set_level(rd, 0, 60);
}

/* A task of level 10 waits on CPU 2, and may leave its shard. */
static void setup_further(uint32_t nr_cpus)
{
	setup_busy(nr_cpus);
	overload_set_cpu(rd, 2, true);
	highest_next = port_alloc(sizeof(*highest_next), 0);
	usage = port_alloc(sizeof(*usage), 0);
	if (!highest_next || !usage)
		abort();
	*highest_next = 10;
	*usage = 1;
	explore_name(highest_next, sizeof(*highest_next), "highest_prio.next");
	explore_name(usage, sizeof(*usage), "usage");
}

/* CPU 0 rises; a search finds it at 2, or the others at 4. */
static void rise(uint32_t cpu)
{
	unsigned long found = 0;
	int level;

	if (!cpu) {
		set_level(rd, 0, 6);
		return;
	}
	level = find(rd, 50, 1, &everyone, &found, NULL, NULL) - 1;
	explore_check((level == 2 && found == 1) || (level == 4 && found == 0xe),
		      "the lowest level is %d at CPUs %#lx", level, found);
}

/* The same with only CPU 0 allowed: the search finds it at 2 or at 6. */
static void rise_alone(uint32_t cpu)
{
	const unsigned long allowed = 1;
	unsigned long found = 0;
	int level;

	if (!cpu) {
		set_level(rd, 0, 6);
		return;
	}
	level = find(rd, 50, 1, &allowed, &found, NULL, NULL) - 1;
	explore_check((level == 2 || level == 6) && found == 1,
		      "CPU 0 rose from 2 to 6 and is at level %d", level);
}

/* Result of CPU 0: whether it saw a queue to pull from. Of CPU 2: whether it saw CPU 0 free. */
static port_always_inline void fall(bool barrier)
{
	struct rto *rto = &rd->root->rto;

	set_level(rd, 0, CPUPRI_NORMAL);
	if (barrier)
		explore_result(0, rto_others(rto, 0));
	else
		explore_result(0, rto_next_for(rto, -1, 0) < nr_cpu_ids);
}

/* atomic_inc() orders nothing by itself, so without the barrier a plain store stands for it. */
static port_always_inline void push(bool barrier)
{
	const unsigned long allowed = 1;
	struct rto *rto = &rd->root->rto;

	if (barrier) {
		overload_set_cpu(rd, 2, true);
	} else {
		WRITE_ONCE(rto->state[cpu_slot[2]], RTO_LEAVES);
		WRITE_ONCE(rto->leaving.counter, 1);
	}
	explore_result(2, find(rd, 50, 2, &allowed, NULL, NULL, NULL) > 0);
}

static void pull_or_push(uint32_t cpu)
{
	cpu ? push(true) : fall(true);
}

static void no_fall_barrier(uint32_t cpu)
{
	cpu ? push(true) : fall(false);
}

static void no_push_barrier(uint32_t cpu)
{
	cpu ? push(false) : fall(true);
}

/* CPU 0 falls to 20 and skips queues without a higher task, as pull_rt_task() does. */
static void fall_a_little(void)
{
	set_level(rd, 0, 20);
	explore_result(0, rto_others(&rd->root->rto, 0) && READ_ONCE(*highest_next) > 20);
}

/* CPU 2 gets a task of level 50, and takes a reference on it to push it. */
static port_always_inline void push_further(bool barrier)
{
	const unsigned long allowed = 1;

	WRITE_ONCE(*highest_next, 50);
	atomic_inc32(usage);
	if (barrier)
		smp_mb__after_atomic();
	explore_result(2, find(rd, 50, 2, &allowed, NULL, NULL, NULL) > 0);
}

static void further(uint32_t cpu)
{
	cpu ? push_further(true) : fall_a_little();
}

static void further_linux(uint32_t cpu)
{
	cpu ? push_further(false) : fall_a_little();
}

static void check_served(uint32_t nr_cpus)
{
	(void)nr_cpus;
	explore_check(
		explore_result_of(0) || explore_result_of(2),
		"CPU 0 is free and saw no task to pull, CPU 2 saw CPU 0 busy: its task waits");
}

#define CASE(name_, title_, kind_, max, setup_, body_, check_, ...)                            \
	{                                                                                      \
		.name = name_, .title = title_, .kind = kind_, .min_cpus = 2, .max_cpus = max, \
		.setup = setup_, .body = body_, .check = check_, ##__VA_ARGS__                 \
	}

const struct explore_case explore_levels_cases[] = {
	CASE("levels-rise", "our kernel's levels: a CPU that rises is found at one of its levels",
	     "core", 3, setup, rise, NULL),
	CASE("levels-rise-alone", "the same, by a search for it alone", "core", 4, setup,
	     rise_alone, NULL),
	CASE("levels-pull-or-push", "a CPU falls, another becomes overloaded: one sees the other",
	     "core", 2, setup_busy, pull_or_push, check_served),
	CASE("levels-leaving",
	     "a CPU falls, an overloaded one gets a task that may leave its shard", "core", 2,
	     setup_overloaded, pull_or_push, check_served),
	CASE("levels-further", "a CPU falls, an overloaded one gets a task of higher level", "core",
	     2, setup_further, further, check_served),
	CASE("levels-further-linux", "the same without a barrier of its own, as in Linux: on x86",
	     "core", 2, setup_further, further_linux, check_served),
	CASE("planted-levels-fall", "planted: no barrier between falling and looking for queues",
	     "planted", 2, setup_busy, no_fall_barrier, check_served),
	CASE("planted-levels-push", "planted: no barrier between being overloaded and searching",
	     "planted", 2, setup_busy, no_push_barrier, check_served),
	CASE("planted-levels-leaving", "planted: the same without a barrier before the search",
	     "planted", 2, setup_overloaded, no_push_barrier, check_served),
	CASE("planted-levels-further", "planted: the same where an atomic increment orders nothing",
	     "planted", 2, setup_further, further_linux, check_served, .posted = true),
	{ 0 },
};
