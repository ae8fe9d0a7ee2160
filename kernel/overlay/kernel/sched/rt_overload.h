/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPUs have RT tasks that wait and could run elsewhere: a root domain's overload set, as the
 * RT class keeps it.
 *
 * A CPU's byte in the set says what rq->rt.overloaded says, which is 0, OVERLOAD_BYTE or
 * OVERLOAD_BYTE_WIDE, and is changed together with it under rq->lock, so that a change that makes
 * no difference writes nothing that is shared. While the run queue is off line (rq->online is
 * 0) its byte is 0 and only rq->rt.overloaded goes on; rq_online_rt() makes up for it. rq->rd
 * changes only off line, so that a byte is always cleared in the root domain in which it was set.
 *
 * Waiting. A task that becomes runnable is on the list of pushable tasks until it is picked, also
 * when it is about to be picked: woken on an idle CPU, say. Linux calls the CPU overloaded for
 * that long, at every wake-up of a task that may migrate. But who outranks the running task can
 * neither be pulled (pull_rt_task() passes it over) nor pushed (push_rt_task() reschedules
 * instead). So a CPU is in the set only while a pushable task does not outrank who runs, and a
 * query in between that misses it misses nothing that it could have had. That is to be judged
 * again when
 *
 *  - the list changes: enqueue_pushable_task(), dequeue_pushable_task(), against rq->donor;
 *  - another task runs: set_next_task_rt(), and those of the two classes above, which RT tasks wait
 *    behind too. All RT tasks outrank a task of the classes below; put_prev_task_rt() sees one
 *    coming (the fair server's);
 *  - the running task's priority, class or mask changes: all of these put the task and set it
 *    again (rt_mutex_setprio(), __sched_setscheduler(), __do_set_cpus_allowed(),
 *    sched_move_task()), and so come by set_next_task_*(). When it falls below RT, the set may go
 *    on naming the CPU until the reschedule that follows: harmless, as any CPU named in vain.
 *
 * Who runs is rq->donor: under proxy execution the owner of a mutex may run in the place of a task
 * that waits for it, and pushing and pulling compare with the one that waits, whose turn it is.
 *
 * What waits unseen outranks rq->donor. It is about to run: resched_curr() has been called
 * (wakeup_preempt_rt(), prio_changed_rt(), switched_to_rt(), pull and push). There are two
 * exceptions, in which pull and push of stock Linux pass it over as well. It belongs to a throttled
 * group, which nobody may take. Or the fair server has its turn: then it waits for the server's
 * runtime to end.
 *
 * Wide. rq->rt.nr_wide counts pushable tasks that CPUs of another shard must know about. Whether
 * a task is counted is remembered in the task (p->sched_rt_wide), not computed again when it
 * leaves: its mask may be another by then.
 */
#ifndef _KERNEL_SCHED_RT_OVERLOAD_H
#define _KERNEL_SCHED_RT_OVERLOAD_H

#include <linux/schedshard/machine.h>
#include <linux/schedshard/overload.h>

#ifndef CONFIG_SCHEDSHARD
#error "sharded scheduler state needs a 64-bit machine"
#endif

/**
 * rt_task_is_wide() - must CPUs outside of this one's shard know about a waiting task?
 * @rq: the queue that it waits on
 * @p: the task; rq->lock is held
 *
 * It is p->cpus_mask that counts, not p->cpus_ptr, as it does for who pulls (pick_rt_task()): a
 * task that may not migrate now is helped by moving the running one away. Where that one may
 * go is not known here, so that such a task is wide whatever its own mask says.
 *
 * Ordering: none. Lines touched: the plan's, and those of the mask with CPUs of the shard.
 */
static inline bool rt_task_is_wide(const struct rq *rq, struct task_struct *p)
{
	const struct shard_plan *plan = schedshard_plan;
	u32 shard = plan->slot[rq->cpu].shard;
	u64 here;

	if (plan->nr_shards == 1)
		return false;
	if (p->nr_cpus_allowed > plan->shard[shard].nr_cpus || is_migration_disabled(p))
		return true;
	here = shard_gather(plan, shard, cpumask_bits(&p->cpus_mask));
	return hweight64(here) < p->nr_cpus_allowed;
}

/* @p is on the list of pushable tasks now, or again. */
static inline void rt_wide_enter(struct rq *rq, struct task_struct *p)
{
	bool wide = rt_task_is_wide(rq, p);

	rq->rt.nr_wide += wide - p->sched_rt_wide;
	p->sched_rt_wide = wide;
}

/* @p is not on the list any more, or never was. */
static inline void rt_wide_leave(struct rq *rq, struct task_struct *p)
{
	rq->rt.nr_wide -= p->sched_rt_wide;
	p->sched_rt_wide = 0;
}

/* Does a waiting task not outrank @runner? The last one of the list is the lowest. */
static inline bool rt_waits(const struct rq *rq, const struct task_struct *runner)
{
	const struct plist_head *tasks = &rq->rt.pushable_tasks;

	return !plist_head_empty(tasks) && plist_last(tasks)->prio >= runner->prio;
}

/* What the set must say about the queue while @runner runs. */
static inline u8 rt_overload_state(const struct rq *rq, const struct task_struct *runner)
{
	if (!rt_waits(rq, runner))
		return 0;
	return rq->rt.nr_wide ? OVERLOAD_BYTE_WIDE : OVERLOAD_BYTE;
}

/**
 * rt_overload_publish() - let the set say what rq->rt.overloaded says
 * @rq: the queue; its lock is held, and it is on line
 */
void rt_overload_publish(struct rq *rq);

/* The state is another one now. */
void rt_overload_change(struct rq *rq, u8 state);

/**
 * rt_overload_update() - the list of pushable tasks has changed, or who runs
 * @rq: the queue; its lock is held
 * @runner: who runs on it, or is about to
 *
 * Ordering: when the queue joins the set a full barrier, before whatever search for a CPU
 * follows; see lib/schedshard/overload.c. Lines touched: nothing shared unless the queue joins
 * or leaves the set, or becomes wide, or stops being so; then the shard's.
 */
static inline void rt_overload_update(struct rq *rq, const struct task_struct *runner)
{
	u8 state = rt_overload_state(rq, runner);

	if (unlikely(state != rq->rt.overloaded))
		rt_overload_change(rq, state);
}

/**
 * rt_overload_ease() - the same where fewer can wait than before
 * @rq: the queue; its lock is held
 * @runner: who runs on it, or is about to
 *
 * A task has left the list, or who runs next is one that each of ours outranks or passes
 * set_next_task_rt() first: a queue that is not in the set does not join it. Of the five times that
 * a task which finds a CPU idle comes by here until it sleeps, three are such.
 */
static inline void rt_overload_ease(struct rq *rq, const struct task_struct *runner)
{
	if (unlikely(rq->rt.overloaded))
		rt_overload_update(rq, runner);
}

/**
 * overload_query_now() - overload_query_tidy() with a period of a quarter of a second
 * @set: an overload set
 * @cpu: who asks
 */
static inline u32 overload_query_now(struct overload *set, int cpu)
{
	return overload_query_tidy(set, cpu, jiffies / (HZ / 4));
}

/**
 * rt_overload_next() - the next CPU that another one may pull from
 * @rq: the queue that wants to pull; its lock is held, but may have been dropped meanwhile
 * @who: what overload_query_now() said
 * @cpu: where the walk stands, -1 at the start
 *
 * First the CPUs of the own shard, then wide ones of the others.
 * Return: its CPU number, -1 at the end. Ordering: none.
 */
static inline int rt_overload_next(const struct rq *rq, u32 who, int cpu)
{
	const struct overload *set = rq->rd->rto;
	u32 own = set->slot[rq->cpu].shard;

	if (cpu < 0 || set->slot[cpu].shard == own) {
		if (who & OVERLOAD_NEAR) {
			do {
				cpu = overload_next_near(set, own, cpu);
			} while (cpu == rq->cpu);
			if (cpu >= 0)
				return cpu;
		}
		if (!(who & OVERLOAD_WIDE))
			return -1;
	}
	do {
		cpu = overload_next_wide(set, cpu);
	} while (cpu >= 0 && set->slot[cpu].shard == own);
	return cpu;
}

#define for_each_rt_overloaded(cpu, rq, who) \
	for (cpu = rt_overload_next(rq, who, -1); cpu >= 0; cpu = rt_overload_next(rq, who, cpu))

#ifndef HAVE_RT_PUSH_IPI
static inline void rt_walks_free(struct root_domain *rd) { }
static inline bool rt_walks_ended(struct root_domain *rd)
{
	return true;
}
#endif

#endif /* _KERNEL_SCHED_RT_OVERLOAD_H */
