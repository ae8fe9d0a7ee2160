/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A root domain's overload set, as the RT class keeps it: CPUs with RT tasks that wait and could
 * run elsewhere. Callers hold rq->lock of every queue that they pass, except where noted.
 *
 * While a queue is online, its CPU's byte in the set equals rq->rt.overloaded: 0, OVERLOAD_BYTE or
 * OVERLOAD_BYTE_WIDE. An update that keeps the state writes nothing shared. While rq->online is 0,
 * the byte is 0 and updates change rq->rt.overloaded only; rq_online_rt() publishes it. rq->rd
 * changes only while the queue is offline: a CPU clears its byte in the root domain that has it.
 *
 * Waiting. A task is on the list of pushable tasks from its wake-up until the scheduler picks it.
 * pull_rt_task() skips a task that outranks the running one; push_rt_task() reschedules instead. So
 * the set names a CPU only while a pushable task does not outrank the running task. The class
 * evaluates that again when
 *
 *  - the list changes: enqueue_pushable_task(), dequeue_pushable_task(), against rq->donor;
 *  - another task runs: set_next_task_rt(), and those of the two higher classes, for whose tasks RT
 *    tasks also wait. put_prev_task_rt(), and those of these classes, handle a next task of a lower
 *    class (the fair server's), which all RT tasks outrank;
 *  - the running task's priority, class or mask changes: rt_mutex_setprio(), sched_move_task(),
 *    __sched_setscheduler() and __do_set_cpus_allowed() put the task and set it again. If it falls
 *    below RT, the set may name the CPU until the next reschedule, which is harmless.
 *
 * The running task is rq->donor, as push and pull compare with it. Under proxy execution another
 * task may run in its place.
 *
 * A waiting task that the set misses outranks rq->donor and is about to run: wakeup_preempt_rt(),
 * prio_changed_rt(), switched_to_rt(), pull or push called resched_curr(). The two exceptions,
 * which stock push and pull skip too, are tasks of a throttled group, and all RT tasks during the
 * fair server's turn.
 */
#ifndef _KERNEL_SCHED_RT_OVERLOAD_H
#define _KERNEL_SCHED_RT_OVERLOAD_H

#include <linux/schedshard/machine.h>
#include <linux/schedshard/overload.h>

/* Does a waiting task not outrank @runner? The list's last task has the lowest priority. */
static inline bool rt_waits(const struct rq *rq, const struct task_struct *runner)
{
	const struct plist_head *tasks = &rq->rt.pushable_tasks;

	return !plist_head_empty(tasks) && plist_last(tasks)->prio >= runner->prio;
}

/* The queue's state in the set while @runner runs. */
static inline u8 rt_overload_state(const struct rq *rq, const struct task_struct *runner)
{
	if (!rt_waits(rq, runner))
		return 0;
	return rq->rt.nr_wide ? OVERLOAD_BYTE_WIDE : OVERLOAD_BYTE;
}

/* Copy rq->rt.overloaded to the set. The queue is online. */
void rt_overload_publish(struct rq *rq);

/* Set the queue's state to @state. */
void rt_overload_change(struct rq *rq, u8 state);

/*
 * The list of pushable tasks has changed, or the running task is or will be @runner. Ordering: when
 * the queue joins the set, a full barrier before the caller's search for a CPU: P2 in
 * lib/schedshard/cpupri.c. Lines touched: nothing shared unless the state changes.
 */
static inline void rt_overload_update(struct rq *rq, const struct task_struct *runner)
{
	u8 state = rt_overload_state(rq, runner);

	if (unlikely(state != rq->rt.overloaded))
		rt_overload_change(rq, state);
}

/*
 * rt_overload_update() for a change by which no queue joins the set. A task has left the list, or
 * each RT task here outranks the next task, or set_next_task() evaluates that task afterwards.
 */
static inline void rt_overload_ease(struct rq *rq, const struct task_struct *runner)
{
	if (unlikely(rq->rt.overloaded))
		rt_overload_update(rq, runner);
}

/* overload_query() with a period of 1/8 to 1/4 second; a division takes longer than a shift. */
static inline u32 overload_query_now(struct overload *set, int cpu)
{
	return overload_query(set, cpu, jiffies >> ilog2(HZ / 4));
}

/* CPUs to pull from: the other CPUs of the own shard, then the wide CPUs of all other shards. */
struct rt_pull {
	u64 left; /* of @shard, by position; a CPU that joins later searches, and finds this one */
	u32 shard;
	u32 next; /* shard to read after it */
};

static inline struct rt_pull rt_pull_begin(const struct rq *rq, u32 who)
{
	struct shard_slot own = schedshard_plan->slot[rq->cpu];
	struct rt_pull it = { .shard = own.shard };

	if (who & OVERLOAD_NEAR)
		it.left = overload_members(rq->rd->rto, own.shard, false) & ~(1ull << own.pos);
	return it;
}

/* The next CPU, -1 at the end. The caller may drop rq->lock between calls. Ordering: none. */
static inline int rt_pull_next(const struct rq *rq, u32 who, struct rt_pull *it)
{
	const struct shard_plan *plan = schedshard_plan;
	u32 pos;

	while (!it->left) {
		if (!(who & OVERLOAD_WIDE) || it->next == plan->nr_shards)
			return -1;
		it->shard = it->next++;
		if (it->shard != plan->slot[rq->cpu].shard)
			it->left = overload_members(rq->rd->rto, it->shard, true);
	}
	pos = port_ctz64(it->left);
	it->left &= it->left - 1;
	return plan->shard_cpus[it->shard][pos];
}

#define for_each_rt_overloaded(cpu, rq, who)                 \
	for (struct rt_pull pull__ = rt_pull_begin(rq, who); \
	     (cpu = rt_pull_next(rq, who, &pull__)) >= 0;)

#endif /* _KERNEL_SCHED_RT_OVERLOAD_H */
