// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests the levels and the set of overloaded queues of the kernel series (core/sched/), combined as
 * in the layout "shard". A CPU's level drops while a queue becomes overloaded, or while an
 * overloaded queue gets a task of a higher level, or one that may use more CPUs or shards.
 *
 *   F1  lower own level                P1  store where tasks of which level wait, and may run
 *   F2  full barrier, in rto_others()  P2  full barrier, in push_rt_task()
 *   F3  look for overloaded queues     P3  search for CPUs of lower level
 *
 * F3 sees P1 or P3 sees F1. Each planted case omits one barrier.
 *
 * With RT_PUSH_IPI, F3 asks the queue's CPU to search: F3 marks the CPU's interrupt, and sends it
 * unless it was marked already. The queue's CPU clears the mark, then searches.
 *
 * P2 cannot be part of a change of the queue's state, because a task of higher level does not
 * change the state of an overloaded queue. Linux has no explicit barrier at P2. On x86 the
 * increment by which push_rt_task() takes a reference on the task is a barrier.
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
#include "linux_rd.inc"

extern const struct rd_ops rd_case_shard;

static struct rd *rd;
static const unsigned long everyone = 0xf;

/* CPU 2's queue: its highest waiting level, the reference count of that task, where it may run. */
static u32 *highest_next, *usage;
static u64 *places;
static u64 *marked;    /* its interrupt */
static u32 *loop_next; /* requests for a push walk */

#define CPUS 12

/* Shards of two CPUs; CPUs from 4 on only make tasks that may run in many of them. */
static void setup(uint32_t nr_cpus)
{
	static struct shard_cpu cpu[CPUS];
	static const struct shard_topo topo = { CPUS, cpu };

	(void)nr_cpus;
	for (s32 i = 0; i < CPUS; i++)
		cpu[i] = (struct shard_cpu){ .llc = i / 2, .core = i, .possible = true };
	linux_sched_forget(); /* left from the case's last run */
	rd = rd_case_shard.create(&topo, NULL, &everyone);
	if (!rd || !cpus_share_shard(0, 1) || cpus_share_shard(1, 2))
		abort();
	/* CPU 0 at level 2, the others at 4. */
	for (u32 i = 0; i < 4; i++)
		set_level(rd, i, i ? 4 : 2);
	explore_const(rd, sizeof(*rd));
	explore_const(rd->active, sizeof(unsigned long));
	explore_const(cpu_slot, CPUS * sizeof(*cpu_slot));
	explore_const(cpu_slot_run, CPUS * sizeof(*cpu_slot_run));
	explore_const(&rd->root->cpupri, sizeof(rd->root->cpupri));
	explore_name(rd->root->cpupri.level, nr_cpu_slots, "levels");
	explore_const(cpu_slot_cpu, nr_cpu_slots * sizeof(*cpu_slot_cpu));
	explore_name(rd->root->rto.state, nr_cpu_slots, "overloaded");
	explore_name(rd->root->rto.from, nr_cpu_slots, "from");
	explore_name(&rd->root->rto.any, sizeof(u32), "any");
	explore_const(rd->own, CPUS * sizeof(*rd->own));
	explore_name(rd->own[2], sizeof(*rd->own[2]), "own");
}

#define OWN  cpu_shard_bit(2)
#define BOTH (cpu_shard_bit(0) | OWN)
#define MANY 0x3full

static void setup_overloaded(uint32_t nr_cpus)
{
	setup(nr_cpus);
	set_level(rd, 0, 60);
	overload_set_cpu(rd, 2, OWN);
}

/* A task that CPU 0 may run waits already. */
static void setup_growing(uint32_t nr_cpus)
{
	setup(nr_cpus);
	set_level(rd, 0, 60);
	overload_set_cpu(rd, 2, BOTH);
}

static void setup_busy(uint32_t nr_cpus)
{
	setup(nr_cpus);
	set_level(rd, 0, 60);
}

/* A task of level 10 waits on CPU 2. It may run in both shards, but not on CPU 0. */
static void setup_further(uint32_t nr_cpus)
{
	setup_busy(nr_cpus);
	overload_set_cpu(rd, 2, BOTH);
	highest_next = port_alloc(sizeof(*highest_next), 0);
	usage = port_alloc(sizeof(*usage), 0);
	places = port_alloc(sizeof(*places), 0);
	marked = port_alloc(sizeof(*marked), 0);
	if (!highest_next || !usage || !places || !marked)
		abort();
	*highest_next = 10;
	*usage = 1;
	*marked = 1;
	explore_name(highest_next, sizeof(*highest_next), "highest_prio.next");
	explore_name(usage, sizeof(*usage), "usage");
	explore_name(places, sizeof(*places), "places");
	explore_name(marked, sizeof(*marked), "marked");
}

static void setup_walk(uint32_t nr_cpus)
{
	setup_busy(nr_cpus);
	loop_next = port_alloc(sizeof(*loop_next), 0);
	if (!loop_next)
		abort();
	explore_name(loop_next, sizeof(*loop_next), "rto_loop_next");
}

/* CPU 0 rises; a search finds it at 2, or the others at 4. If only it is @allowed: at 2 or at 6. */
static port_always_inline void rises(u32 cpu, unsigned long allowed)
{
	unsigned long found = 0, others = allowed & 0xe;
	int level;

	if (!cpu) {
		set_level(rd, 0, 6);
		return;
	}
	level = find(rd, 50, 1, &allowed, &found, NULL, NULL) - 1;
	explore_check((level == 2 && found == 1) ||
			      (level == (others ? 4 : 6) && found == (others ? others : 1)),
		      "CPU 0 rose from 2 to 6, and the lowest level is %d at CPUs %#lx", level,
		      found);
}

EXPLORE_BODY(rise, rises(cpu, everyone))
EXPLORE_BODY(rise_alone, rises(cpu, 1))

/* Result of CPU 0: whether it saw a queue to pull from. Of CPU 2: whether it saw CPU 0 free. */
static port_always_inline void fall(bool barrier)
{
	struct rto *rto = &rd->root->rto;
	u64 from;

	set_level(rd, 0, CPUPRI_NORMAL);
	if (barrier)
		explore_result(0, rto_others(rto, 0, &from));
	else
		explore_result(0, rto_next_for(rto, -1, 0, rto_from(rto, 0)) < nr_cpu_ids);
}

static bool free_found(void)
{
	const unsigned long allowed = 1;

	return find(rd, 50, 2, &allowed, NULL, NULL, NULL) > 0;
}

/* atomic_add() orders nothing by itself, so without the barrier a plain store stands for it. */
static port_always_inline void push(u64 shards, bool barrier)
{
	struct rto *rto = &rd->root->rto;

	if (barrier) {
		overload_set_cpu(rd, 2, shards);
	} else {
		WRITE_ONCE(rto->state[cpu_slot[2]], RTO_LEAVES);
		WRITE_ONCE(rto_counter(rto, 0, 2)->counter, 1);
	}
	explore_result(2, free_found());
}

EXPLORE_BODY(pull_or_push, cpu ? push(BOTH, true) : fall(true))
EXPLORE_BODY(pull_or_push_any, cpu ? push(MANY, true) : fall(true))
EXPLORE_BODY(no_fall_barrier, cpu ? push(BOTH, true) : fall(false))
EXPLORE_BODY(no_push_barrier, cpu ? push(BOTH, false) : fall(true))

/* CPU 2 gets a task that may run in many shards. */
static void grow(uint32_t cpu)
{
	if (cpu)
		rto_publish(&rd->root->rto, 2, rd->own[2], MANY);
	else
		fall(true);
}

/* As grow(), but once all shards see the task, the few that counted it before no longer do. */
static void grow_and_forget(uint32_t cpu)
{
	struct rto *rto = &rd->root->rto;

	if (!cpu) {
		fall(true);
		return;
	}
	atomic_add(-1, rto_counter(rto, 0, 2));
	WRITE_ONCE(rto->state[cpu_slot[2]], RTO_ANY);
	atomic_add(1, &rto->any);
}

static void check_seen(uint32_t nr_cpus)
{
	(void)nr_cpus;
	explore_check(explore_result_of(0), "CPU 0 did not see a queue that was overloaded before");
}

/* CPU 0 drops to level 20 and skips queues without a higher task for it, as pull_rt_task() does. */
static void fall_a_little(void)
{
	u64 from;

	set_level(rd, 0, 20);
	explore_result(0, rto_others(&rd->root->rto, 0, &from) && READ_ONCE(*highest_next) > 20 &&
				  READ_ONCE(*places) & cpu_place_bit(0));
}

/* CPU 2 has been asked. CPU 0's level drops, and it sends no interrupt if the mark is there. */
static port_always_inline void asked(uint32_t cpu, bool clear_first)
{
	if (!cpu) {
		set_level(rd, 0, 20);
		smp_mb();
		explore_result(0, !port_fetch_or64(marked, 1));
		return;
	}
	if (clear_first)
		port_and64(marked, 0);
	smp_mb__after_atomic();
	explore_result(2, free_found());
	if (!clear_first)
		port_and64(marked, 0);
}

EXPLORE_BODY(ask, asked(cpu, true))
EXPLORE_BODY(ask_and_clear_late, asked(cpu, false))

/* CPU 2 gets a task of level 50 for CPU 0, and takes a reference on it to push it. */
static port_always_inline void push_further(bool barrier)
{
	WRITE_ONCE(*places, cpu_place_bit(0) | cpu_place_bit(1));
	WRITE_ONCE(*highest_next, 50);
	atomic_inc32(usage);
	if (barrier)
		smp_mb__after_atomic();
	explore_result(2, free_found());
}

/*
 * CPU 0 lowers its level, sees CPU 2's queue (program 1), and prolongs a push walk. Program 2
 * carries the walk: where it sees the request, it sees the queue that CPU 0 has seen.
 */
static port_always_inline void walk(uint32_t cpu, bool barrier)
{
	struct rto *rto = &rd->root->rto;
	u64 from;

	if (cpu == 1) {
		rto_publish(rto, 2, rd->own[2], BOTH);
	} else if (cpu == 2) {
		if (smp_load_acquire(loop_next))
			explore_check(rto_next(rto, -1) == 2,
				      "CPU 0 asked for a walk to CPU 2, and the walk missed it");
	} else {
		set_level(rd, 0, CPUPRI_NORMAL);
		if (!rto_others(rto, 0, &from))
			return;
		if (barrier)
			smp_mb__before_atomic();
		atomic_inc32(loop_next);
	}
}

EXPLORE_BODY(walk_ordered, walk(cpu, true))
EXPLORE_BODY(walk_relaxed, walk(cpu, false))
EXPLORE_BODY(further, cpu ? push_further(true) : fall_a_little())
EXPLORE_BODY(further_linux, cpu ? push_further(false) : fall_a_little())

static void check_served(uint32_t nr_cpus)
{
	(void)nr_cpus;
	explore_check(
		explore_result_of(0) || explore_result_of(2),
		"CPU 0 is free and saw no task to pull, CPU 2 saw CPU 0 busy: its task waits");
}

#define CASE(name_, title_, kind_, max, setup_, body_, check_, ...) \
	EXPLORE_CASE(name_, title_, kind_, 2, max, setup_, body_, check_, ##__VA_ARGS__)

const struct explore_case explore_levels_cases[] = {
	CASE("levels-rise", "our kernel's levels: a CPU that rises is found at one of its levels",
	     "core", 3, setup, rise, NULL),
	CASE("levels-rise-alone", "levels-rise by a search for that CPU alone", "core", 4, setup,
	     rise_alone, NULL),
	CASE("levels-pull-or-push",
	     "a CPU's level drops, another becomes overloaded: one sees the other", "core", 2,
	     setup_busy, pull_or_push, check_served),
	CASE("levels-leaving",
	     "a CPU's level drops, an overloaded one gets a task that may leave its shard", "core",
	     2, setup_overloaded, pull_or_push, check_served),
	CASE("levels-any", "levels-leaving with a task that may run in many shards", "core", 2,
	     setup_busy, pull_or_push_any, check_served),
	CASE("levels-grow", "a queue is seen while its tasks may run in ever more shards", "core",
	     2, setup_growing, grow, check_seen),
	CASE("levels-ask", "a CPU's level drops, and it asks a queue that has been asked", "core",
	     2, setup_further, ask, check_served),
	CASE("levels-further", "a CPU's level drops, an overloaded one gets a higher task for it",
	     "core", 2, setup_further, further, check_served),
	CASE("levels-further-linux",
	     "levels-further without a barrier of its own, as in Linux: on x86", "core", 2,
	     setup_further, further_linux, check_served),
	EXPLORE_CASE("levels-walk",
		     "a walk sees the queue that the CPU which asked for it has seen", "core", 3, 3,
		     setup_walk, walk_ordered, NULL),
	EXPLORE_CASE("levels-walk-relaxed",
		     "levels-walk with a relaxed increment: where all CPUs see a store at once",
		     "core", 3, 3, setup_walk, walk_relaxed, NULL),
	CASE("planted-levels-fall",
	     "planted: no barrier between the lower level and the look for queues", "planted", 2,
	     setup_busy, no_fall_barrier, check_served),
	CASE("planted-levels-push", "planted: no barrier between being overloaded and searching",
	     "planted", 2, setup_busy, no_push_barrier, check_served),
	CASE("planted-levels-leaving",
	     "planted: levels-leaving without a barrier before the search", "planted", 2,
	     setup_overloaded, no_push_barrier, check_served),
	CASE("planted-levels-grow", "planted: shards stop counting a queue before all see it",
	     "planted", 2, setup_growing, grow_and_forget, check_seen),
	CASE("planted-levels-ask", "planted: a queue that was asked searches, then clears the mark",
	     "planted", 2, setup_further, ask_and_clear_late, check_served),
	CASE("planted-levels-further",
	     "planted: levels-further where an atomic increment orders nothing", "planted", 2,
	     setup_further, further_linux, check_served, .posted = true),
	{ 0 },
};
