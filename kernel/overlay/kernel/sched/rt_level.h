/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The level of a run queue, which other CPUs look for: a function of what is runnable on it, and
 * stored whenever that changes, under rq->lock.
 *
 * A queue with a deadline task is at CPUPRI_HIGHER for as long as it has one. (In Linux the level
 * follows whatever changed last, so that an RT task that is woken behind a running deadline task
 * lowers it, and draws other RT tasks to a CPU that will not run them.) A queue that is off line
 * is at CPUPRI_INVALID, whatever becomes runnable on it, until rq_online_rt().
 *
 * Order. A level is a byte, which is written by one store; a rising CPU is seen at its old or new
 * level, never at neither, and no barrier is needed for that. What has to be in order is: a level
 * falls, full barrier, who waits? And on the other side: I wait, full barrier, who is lower? The
 * first barrier is in overload_query_tidy(), with which pull_rt_task() begins; the second
 * one in overload_set(). So the map itself has none: a CPU that
 * falls stores its level (dec_rt_prio_smp(), dec_dl_deadline()) before balance_rt() or a callback
 * queued by prio_changed_rt() or switched_from_rt() lets it pull.
 */
#ifndef _KERNEL_SCHED_RT_LEVEL_H
#define _KERNEL_SCHED_RT_LEVEL_H

#include <linux/schedshard/cpupri.h>

/**
 * prio_to_level() - the level of a task, from its priority
 * @prio: p->prio: -1 deadline, 0 to 98 RT from high to low, 99 and more: none of these
 *
 * Return: CPUPRI_HIGHER, 99 to 1, CPUPRI_NORMAL.
 */
static inline int prio_to_level(int prio)
{
	static_assert(MAX_RT_PRIO - 1 - (MAX_DL_PRIO - 1) == CPUPRI_HIGHER);
	return prio < MAX_RT_PRIO ? MAX_RT_PRIO - 1 - prio : CPUPRI_NORMAL;
}

/* The level that a queue is at while it is on line. */
static inline int rq_level(const struct rq *rq)
{
	/* The earliest deadline; 0: there is none. */
	return rq->dl.earliest_dl.curr ? CPUPRI_HIGHER : prio_to_level(rq->rt.highest_prio.curr);
}

/**
 * rq_level_set() - store a level
 * @rq: the queue; its lock is held
 * @level: the level
 *
 * Ordering: none. Lines touched: the shard's, written.
 */
static inline void rq_level_set(struct rq *rq, int level)
{
	if (rq->online)
		cpupri_set(&rq->rd->cpupri, rq->cpu, level);
}

/**
 * rq_level_update() - what is runnable on the queue has changed
 * @rq: the queue; its lock is held
 */
static inline void rq_level_update(struct rq *rq)
{
	rq_level_set(rq, rq_level(rq));
}

/**
 * rt_find_lower() - is there a CPU that would run the task at once?
 * @rq: the queue that the task is on
 * @p: the task
 *
 * Ordering: none; see above. Lines touched: the own shard's and those of shards with CPUs that @p
 * may use, up to the first hit.
 */
static inline bool rt_find_lower(const struct rq *rq, const struct task_struct *p)
{
	return cpupri_find(&rq->rd->cpupri, prio_to_level(p->prio), rq->cpu,
			   cpumask_bits(&p->cpus_mask), cpumask_bits(cpu_active_mask), NULL);
}

/**
 * rt_find_lowest() - the CPUs that should rather run the task
 * @p: the task
 * @lowest_mask: for those at the lowest level below the task's own; if that is CPUPRI_NORMAL, which
 *	nothing is below, only those in the nearest shard that has any
 * @fits: does a CPU fit the task? NULL: all do. Ignored when none does
 *
 * Return: whether there are any. Ordering: none. Lines touched: the own shard's and those of
 * shards with CPUs that @p may use, nearest first, none after one with a CPU at CPUPRI_NORMAL.
 */
static inline bool rt_find_lowest(struct task_struct *p, struct cpumask *lowest_mask,
				  bool (*fits)(u32 cpu, void *p))
{
	return cpupri_find_near(&task_rq(p)->rd->cpupri, prio_to_level(p->prio), task_cpu(p),
				cpumask_bits(&p->cpus_mask), cpumask_bits(cpu_active_mask),
				cpumask_bits(lowest_mask), fits, p);
}

#endif /* _KERNEL_SCHED_RT_LEVEL_H */
