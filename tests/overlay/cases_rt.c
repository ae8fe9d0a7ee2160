// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The RT class over the overlay's files, in every interleaving. Four CPUs in two shards, 0 and 1, 2
 * and 3. Task 0 runs on CPU 0, task 1 on the CPU that falls; the others wait, wake or move.
 *
 * At the end all interrupts have arrived and all queues have chosen again. Then no task may wait on
 * a queue while a CPU that it may use runs something lower. The interrupts must come to an end.
 */
#include "rt_class.h"

#include <stdlib.h>

#include "../../sim/cases/objects.h"

enum { RETURNED }; /* ghost */

#define NEAR 1u /* of CPU 0's shard */
#define FAR  2u

#define MOST_ROUNDS 32

static void settle_all(void)
{
	static const char *const names[SHIM_CPUS] = { "rq 0", "rq 1", "rq 2", "rq 3" };
	static const char *const tasks[SHIM_TASKS] = { "task 0", "task 1", "task 2", "task 3",
						       "task 4" };

	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++) {
		struct rq *rq = cpu_rq(cpu);

		rt_settle(rq);
		explore_name(rq, sizeof(*rq), names[cpu]);
		explore_const(rq, offsetof(struct rq, lock));
	}
	for (u32 i = 0; i < SHIM_TASKS; i++)
		explore_name(shim_tasks[i], sizeof(struct task_struct), tasks[i]);
	explore_const(rt_idle, sizeof(*rt_idle));
	explore_const(rt_rd, sizeof(*rt_rd));
	explore_const(rt_rd->cpupri.map, rt_rd->cpupri.map->bytes);
	explore_const(rt_rd->rto, sizeof(*rt_rd->rto));
	explore_const(rt_rd->rto->map, rt_rd->rto->map->bytes);
	explore_const(rt_rd->dlo, sizeof(*rt_rd->dlo));
	explore_const(rt_rd->dlo->map, rt_rd->dlo->map->bytes);
	explore_const(rt_rd->rto->summary, offsetof(struct shard_summary, word));
	explore_const(rt_rd->dlo->summary, offsetof(struct shard_summary, word));
	explore_const(rt_rd->rto_walks, sizeof(*rt_rd->rto_walks));
	for (u32 i = 0; i <= rt_rd->rto_walks->nr; i++) {
		struct rt_walk *w = rt_rd->rto_walks->walk[i];

		explore_name(w, sizeof(*w), i < rt_rd->rto_walks->nr ? "near walk" : "far walk");
		explore_const((char *)w + sizeof(w->state), sizeof(*w) - sizeof(w->state));
	}
	explore_name(rt_rd->cpupri.map->line[0], PORT_CACHELINE, "levels 0");
	explore_name(rt_rd->cpupri.map->line[1], PORT_CACHELINE, "levels 1");
	explore_name(rt_rd->rto->map->line[0], PORT_CACHELINE, "overload 0");
	explore_name(rt_rd->rto->map->line[1], PORT_CACHELINE, "overload 1");
	explore_name(rt_rd->rto->summary->word, sizeof(u64), "summary");
}

static void may_use(u32 task, unsigned long cpus)
{
	struct task_struct *p = shim_tasks[task];

	p->cpus_mask.bits[0] = cpus;
	p->nr_cpus_allowed = (int)port_popcount64(cpus);
}

static void tasks_stay(void)
{
	for (u32 i = 0; i < SHIM_TASKS; i++)
		explore_const(shim_tasks[i], offsetof(struct task_struct, sched_rt_wide));
}

/* Task 0 runs on CPU 0, task 1 on the one that will fall; both may run nowhere else. */
static void two_run(u32 falls)
{
	if (!rt_machine(case_plan(SHIM_CPUS, 2)))
		abort();
	may_use(0, 1ul << 0);
	may_use(1, 1ul << falls);
	rt_place(cpu_rq(0), shim_tasks[0]);
	rt_place(cpu_rq(falls), shim_tasks[1]);
}

/* -------- the end of an execution -------- */

static void arrive(void)
{
	bool more = true;
	u32 rounds = 0;

	while (more) {
		if (rounds++ == MOST_ROUNDS) {
			explore_fail("the interrupts have no end");
			return;
		}
		more = false;
		for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++) {
			more |= rt_interrupts(cpu_rq(cpu));
			if (cpu_rq(cpu)->resched) {
				rt_resched(cpu_rq(cpu));
				more = true;
			}
		}
	}
	for (u32 i = 0; i <= rt_rd->rto_walks->nr; i++)
		explore_check(rt_rd->rto_walks->walk[i]->state.state == PUSH_WALK_IDLE,
			      "a walk is under way, and no CPU carries it");
}

static void check_task(const struct rq *rq, const struct task_struct *p)
{
	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++)
		explore_check(!(p->cpus_mask.bits[0] >> cpu & 1) || !cpu_rq(cpu)->online ||
				      rq_level(cpu_rq(cpu)) >= prio_to_level(p->prio),
			      "task %u waits on CPU %u, and CPU %u runs less", p->number, rq->cpu,
			      cpu);
}

static void check_nobody_waits(uint32_t nr_cpus)
{
	if (explore_gave_up())
		return;
	arrive();
	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++) {
		const struct rq *rq = cpu_rq(cpu);
		u32 wide = 0;

		explore_check(rq->lock == 0, "CPU %u's lock is held", cpu);
		explore_check(cpupri_get(&rt_rd->cpupri, cpu) ==
				      (rq->online ? rq_level(rq) : CPUPRI_INVALID),
			      "CPU %u's level is not what runs there", cpu);
		explore_check(bytemap_get(rt_rd->rto->map, cpu) ==
				      (rq->online ? rt_overload_state(rq, rq->donor) : 0),
			      "CPU %u's byte is not what waits there", cpu);
		for (u64 left = rq->rt.pushable_tasks.tasks; left; left &= left - 1) {
			check_task(rq, shim_tasks[port_ctz64(left)]);
			wide += rt_task_is_wide(rq, shim_tasks[port_ctz64(left)]);
		}
		explore_check(wide == rq->rt.nr_wide, "CPU %u counts %u wide tasks of %u", cpu,
			      rq->rt.nr_wide, wide);
	}
}

/* -------- a task wakes behind another one while a CPU falls -------- */

static u32 falls;

static void setup_wake(u32 cpu, unsigned long allowed)
{
	falls = cpu;
	two_run(cpu);
	may_use(2, allowed);
	settle_all();
	tasks_stay();
}

static void setup_wake_far(uint32_t nr_cpus)
{
	setup_wake(FAR, 1ul << 0 | 1ul << FAR);
}

static void setup_wake_near(uint32_t nr_cpus)
{
	setup_wake(NEAR, 1ul << 0 | 1ul << NEAR);
}

/* A lower task waits already, which could not use the CPU: the byte does not change. */
static void setup_wake_behind(uint32_t nr_cpus)
{
	falls = FAR;
	two_run(FAR);
	may_use(2, 1ul << 0 | 1ul << FAR);
	may_use(3, 1ul << 0 | 1ul << 3);
	rt_place(cpu_rq(0), shim_tasks[3]);
	cpu_rq(3)->dl.earliest_dl.curr = 1; /* busy with something higher */
	settle_all();
	tasks_stay();
}

static void setup_pull_first(uint32_t nr_cpus)
{
	setup_wake_far(nr_cpus);
	rt_wrong = RT_PULL_FIRST;
}

static void setup_push_first(uint32_t nr_cpus)
{
	setup_wake_far(nr_cpus);
	rt_wrong = RT_PUSH_FIRST;
}

static void setup_not_round(uint32_t nr_cpus)
{
	setup_wake_far(nr_cpus);
	rt_wrong = RT_NOT_ROUND;
}

static void wake_and_fall(uint32_t cpu)
{
	switch (cpu) {
	case 0:
		rt_wake(cpu_rq(0), shim_tasks[2]);
		break;
	case 1:
		rt_block(cpu_rq(falls));
		break;
	case 2:
		rt_interrupts(cpu_rq(0));
		rt_look(cpu_rq(FAR), 1);
		break;
	default:
		rt_look(cpu_rq(FAR), 1);
	}
}

/* -------- two tasks were woken on an idle CPU, which now chooses -------- */

static void setup_choose(uint32_t nr_cpus)
{
	falls = FAR;
	two_run(FAR);
	may_use(2, 1ul << 0 | 1ul << FAR);
	settle_all();
	cpu_rq(0)->donor = rt_idle;
	rt_wake(cpu_rq(0), shim_tasks[2]);
	tasks_stay();
}

static void choose_and_fall(uint32_t cpu)
{
	if (!cpu)
		rt_resched(cpu_rq(0));
	else
		wake_and_fall(cpu);
}

/* -------- two CPUs fall, two tasks wait -------- */

static void setup_two_fall(uint32_t nr_cpus)
{
	two_run(FAR);
	may_use(2, 1ul << NEAR);
	may_use(3, 1ul << 0 | 1ul << FAR);
	may_use(4, 1ul << 0 | 1ul << NEAR);
	rt_place(cpu_rq(NEAR), shim_tasks[2]);
	rt_place(cpu_rq(0), shim_tasks[3]);
	rt_place(cpu_rq(0), shim_tasks[4]);
	settle_all();
	tasks_stay();
}

/* The same where both are of the far shard, and ask for one walk. */
static void setup_two_far(uint32_t nr_cpus)
{
	two_run(FAR);
	may_use(2, 1ul << 3);
	may_use(3, 1ul << 0 | 1ul << FAR);
	may_use(4, 1ul << 0 | 1ul << 3);
	rt_place(cpu_rq(3), shim_tasks[2]);
	rt_place(cpu_rq(0), shim_tasks[3]);
	rt_place(cpu_rq(0), shim_tasks[4]);
	settle_all();
	tasks_stay();
}

static void two_far(uint32_t cpu)
{
	switch (cpu) {
	case 0:
		rt_block(cpu_rq(FAR));
		break;
	case 1:
		rt_block(cpu_rq(3));
		break;
	default:
		rt_interrupts(cpu_rq(0));
	}
}

static void two_fall(uint32_t cpu)
{
	switch (cpu) {
	case 0:
		rt_block(cpu_rq(FAR));
		break;
	case 1:
		rt_block(cpu_rq(NEAR));
		break;
	default:
		rt_interrupts(cpu_rq(0));
	}
}

/* -------- a waiting task's mask widens; its queue goes off line and comes back -------- */

static void setup_widen(uint32_t nr_cpus)
{
	falls = FAR;
	two_run(FAR);
	may_use(2, 1ul << 0 | 1ul << NEAR);
	cpu_rq(NEAR)->dl.earliest_dl.curr = 1;
	rt_place(cpu_rq(0), shim_tasks[2]);
	settle_all();
}

static void fall_if_returned(void)
{
	explore_result(0, explore_ghost_get(RETURNED));
	rt_block(cpu_rq(FAR));
}

static void widen(uint32_t cpu)
{
	switch (cpu) {
	case 0:
		rt_allow(cpu_rq(0), shim_tasks[2], 1ul << 0 | 1ul << NEAR | 1ul << FAR);
		explore_ghost_set(RETURNED, 1);
		break;
	case 1:
		fall_if_returned();
		break;
	default:
		rt_look(cpu_rq(FAR), 1);
	}
}

static void setup_plug(uint32_t nr_cpus)
{
	falls = FAR;
	two_run(FAR);
	may_use(2, 1ul << 0 | 1ul << FAR);
	rt_place(cpu_rq(0), shim_tasks[2]);
	settle_all();
	tasks_stay();
}

static void off_line(void)
{
	rt_offline(cpu_rq(0));
	explore_check(!overload_test(rt_rd->rto, 0), "CPU 0 is off line, and in the set");
	explore_check(cpupri_get(&rt_rd->cpupri, 0) == CPUPRI_INVALID,
		      "CPU 0 is off line, and has a level");
}

static void plug(uint32_t cpu)
{
	switch (cpu) {
	case 0:
		off_line();
		rt_online(cpu_rq(0));
		explore_ghost_set(RETURNED, 1);
		break;
	case 1:
		fall_if_returned();
		break;
	default:
		rt_look(cpu_rq(FAR), 1);
	}
}

/* A CPU that falls before that, or meanwhile, need not see the task, as in Linux. */
static void check_who_came_later(uint32_t nr_cpus)
{
	if (explore_result_of(0))
		check_nobody_waits(nr_cpus);
	else if (!explore_gave_up())
		arrive();
}

/* A task wakes on an offline queue. */
static void wake_off_line(uint32_t cpu)
{
	switch (cpu) {
	case 0:
		off_line();
		rt_wake(cpu_rq(0), shim_tasks[3]);
		rt_online(cpu_rq(0));
		explore_ghost_set(RETURNED, 1);
		break;
	default:
		plug(cpu);
	}
}

/* -------- deadline tasks -------- */

static void setup_dl(uint32_t nr_cpus)
{
	if (!rt_machine(case_plan(SHIM_CPUS, 2)))
		abort();
	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++)
		cpu_rq(cpu)->dl.earliest_dl.curr = 1;
	settle_all();
}

static void dl(uint32_t cpu)
{
	switch (cpu) {
	case 0:
		dl_wait(cpu_rq(0));
		break;
	case 1:
		dl_finish(cpu_rq(FAR));
		break;
	default:
		overload_query(rt_rd->dlo, FAR, 1);
	}
}

static void check_dl(uint32_t nr_cpus)
{
	if (explore_gave_up())
		return;
	explore_check(cpu_rq(0)->dl.earliest_dl.curr < 2 || cpu_rq(FAR)->dl.earliest_dl.curr,
		      "a deadline task waits, and CPU 2 is free");
	explore_check(overload_test(rt_rd->dlo, 0) == (cpu_rq(0)->dl.earliest_dl.curr > 1),
		      "CPU 0's byte is not what waits there");
}

#define CASE(name_, title_, kind_, min, max, setup_, body_, check_)                              \
	{                                                                                        \
		.name = name_, .title = title_, .kind = kind_, .min_cpus = min, .max_cpus = max, \
		.setup = setup_, .body = body_, .check = check_                                  \
	}

const struct explore_case overlay_rt_cases[] = {
	CASE("rt-wake-far", "a task that waits goes to a CPU of another shard that falls", "core",
	     2, 3, setup_wake_far, wake_and_fall, check_nobody_waits),
	CASE("rt-wake-near", "the same in its shard", "core", 2, 3, setup_wake_near, wake_and_fall,
	     check_nobody_waits),
	CASE("rt-wake-behind", "the same where another task waits already", "core", 2, 3,
	     setup_wake_behind, wake_and_fall, check_nobody_waits),
	CASE("rt-choose", "two tasks on an idle CPU: who is not chosen goes to a CPU that falls",
	     "core", 2, 3, setup_choose, choose_and_fall, check_nobody_waits),
	CASE("rt-two-fall", "two CPUs fall, and two walks meet on one CPU", "core", 2, 3,
	     setup_two_fall, two_fall, check_nobody_waits),
	CASE("rt-two-far", "two CPUs of one shard fall, and ask for one walk", "core", 2, 3,
	     setup_two_far, two_far, check_nobody_waits),
	CASE("rt-widen", "who falls after a task may use it gets the task", "core", 2, 3,
	     setup_widen, widen, check_who_came_later),
	CASE("rt-plug", "who falls after a queue came on line gets what waits there", "core", 2, 3,
	     setup_plug, plug, check_who_came_later),
	CASE("rt-plug-wake", "the same where the task woke while the queue was off line", "core", 2,
	     3, setup_plug, wake_off_line, check_who_came_later),
	CASE("dl-wait", "a deadline task that waits goes to a CPU that becomes free", "core", 2, 3,
	     setup_dl, dl, check_dl),
	CASE("planted-rt-pull", "planted: asks who waits before its level falls", "planted", 2, 3,
	     setup_pull_first, wake_and_fall, check_nobody_waits),
	CASE("planted-rt-push", "planted: looks for a CPU before it says that somebody waits",
	     "planted", 2, 3, setup_push_first, wake_and_fall, check_nobody_waits),
	CASE("planted-rt-round", "planted: an interrupt that does not go on", "planted", 2, 3,
	     setup_not_round, wake_and_fall, check_nobody_waits),
	{ 0 },
};
