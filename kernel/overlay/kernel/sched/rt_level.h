/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The level of a run queue, for which other CPUs search: a function of the queue's runnable tasks.
 * The RT and deadline classes store it under rq->lock whenever these change.
 *
 * A queue is at CPUPRI_HIGHER while it has a deadline task. An offline queue stays at
 * CPUPRI_INVALID, whatever becomes runnable on it, until rq_online_rt().
 *
 * The map has no barriers. lib/schedshard/cpupri.c explains the two that others have for it: F2,
 * with which pull_rt_task() begins, and P2, after a queue is marked as overloaded. A CPU that falls
 * stores its level before it pulls: dec_rt_prio_smp() or dec_dl_deadline() stores it. balance_rt()
 * pulls, or a callback that prio_changed_rt() or switched_from_rt() queued.
 */
#ifndef _KERNEL_SCHED_RT_LEVEL_H
#define _KERNEL_SCHED_RT_LEVEL_H

#include <linux/schedshard/cpupri.h>
#include <linux/schedshard/machine.h>

/* A task's level by p->prio: -1 is deadline, 0 to 98 RT from high to low, others are neither. */
static inline int prio_to_level(int prio)
{
	static_assert(MAX_RT_PRIO - 1 - (MAX_DL_PRIO - 1) == CPUPRI_HIGHER);
	return prio < MAX_RT_PRIO ? MAX_RT_PRIO - 1 - prio : CPUPRI_NORMAL;
}

/* The level of an online queue. */
static inline int rq_level(const struct rq *rq)
{
	/* The earliest deadline; 0: no deadline task. */
	return rq->dl.earliest_dl.curr ? CPUPRI_HIGHER : prio_to_level(rq->rt.highest_prio.curr);
}

/* Store a level. Line touched: the shard's, written. */
static inline void rq_level_set(struct rq *rq, int level)
{
	if (rq->online)
		cpupri_set(&rq->rd->cpupri, rq->cpu, level);
}

/* The queue's runnable tasks have changed. */
static inline void rq_level_update(struct rq *rq)
{
	rq_level_set(rq, rq_level(rq));
}

/*
 * Would a CPU run @p, a task of @rq, at once? Lines touched: those of shards with CPUs that @p may
 * use, up to the first hit.
 */
static inline bool rt_find_lower(const struct rq *rq, const struct task_struct *p)
{
	return cpupri_find(&rq->rd->cpupri, prio_to_level(p->prio), rq->cpu,
			   cpumask_bits(&p->cpus_mask), cpumask_bits(cpu_active_mask), NULL);
}

/*
 * Find the CPUs at the lowest level below the task's own. @fits: does a CPU fit the task? NULL: all
 * do. Ignored when none does. Return: whether it found any.
 */
static inline bool rt_find_lowest(struct task_struct *p, struct cpumask *lowest_mask,
				  bool (*fits)(u32 cpu, void *p))
{
	return cpupri_find_near(&task_rq(p)->rd->cpupri, prio_to_level(p->prio), task_cpu(p),
				cpumask_bits(&p->cpus_mask), cpumask_bits(cpu_active_mask),
				cpumask_bits(lowest_mask), fits, p);
}

#endif /* _KERNEL_SCHED_RT_LEVEL_H */
