/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The calls of cache-aware scheduling in the fair class: patched out while it is off, and always on
 * a machine with one last-level cache.
 */
#ifndef _KERNEL_SCHED_CACHE_H
#define _KERNEL_SCHED_CACHE_H

#ifdef CONFIG_SCHED_CACHE_SHARD

DECLARE_STATIC_KEY_FALSE(sched_cache_on);

/*
 * A thread's runtime is accounted at ticks and when it stops running, and only in pieces of 65 us
 * or more. A thread that sleeps and wakes more often costs a comparison each time. At a migration
 * less than one piece of each stay goes to the wrong CPU, equally often in both directions.
 * update_curr(), which runs several times as often, is not changed.
 */
#define SCHED_CACHE_PIECE BIT_ULL(16)

void __sched_cache_account(struct rq *rq, struct task_struct *p);
void __sched_cache_tick(struct rq *rq, struct task_struct *p);

/*
 * A thread stops running. The queue is locked; its clock and @p's sum_exec_runtime are up to date.
 */
static __always_inline void sched_cache_account(struct rq *rq, struct task_struct *p)
{
	if (static_branch_likely(&sched_cache_on) &&
	    unlikely(p->se.sum_exec_runtime - p->sched_cache.mark >= SCHED_CACHE_PIECE))
		__sched_cache_account(rq, p);
}

/* A tick found the thread running. The queue is locked. */
static inline void sched_cache_tick(struct rq *rq, struct task_struct *p)
{
	if (static_branch_likely(&sched_cache_on))
		__sched_cache_tick(rq, p);
}

#else

static __always_inline void sched_cache_account(struct rq *rq, struct task_struct *p) { }
static inline void sched_cache_tick(struct rq *rq, struct task_struct *p) { }

#endif /* CONFIG_SCHED_CACHE_SHARD */

#endif /* _KERNEL_SCHED_CACHE_H */
