/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which waiting RT tasks must CPUs of other shards know about? Those that may leave the shard of
 * their queue. While a queue has none, only CPUs of its shard see it in the overload set
 * (rt_overload.h).
 *
 * rq->rt.nr_wide counts the wide tasks on the list of pushable tasks. A task's mask may change on
 * the list, so p->sched_rt_wide records whether the task is counted. Callers hold rq->lock.
 */
#ifndef _KERNEL_SCHED_RT_WIDE_H
#define _KERNEL_SCHED_RT_WIDE_H

#include <linux/schedshard/machine.h>

/*
 * Must CPUs of other shards know about the waiting task @p? As in pick_rt_task(), p->cpus_mask
 * decides, not p->cpus_ptr. A task with migration disabled is wide: moving the running task helps
 * it, and this function does not know the running task's mask.
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

/* @p has entered the list of pushable tasks, or entered it again. */
static inline void rt_wide_enter(struct rq *rq, struct task_struct *p)
{
	bool wide = rt_task_is_wide(rq, p);

	if (wide != p->sched_rt_wide) {
		rq->rt.nr_wide += wide - p->sched_rt_wide;
		p->sched_rt_wide = wide;
	}
}

/* @p has left the list, or was never on it. */
static inline void rt_wide_leave(struct rq *rq, struct task_struct *p)
{
	if (p->sched_rt_wide) {
		rq->rt.nr_wide--;
		p->sched_rt_wide = 0;
	}
}

#endif /* _KERNEL_SCHED_RT_WIDE_H */
