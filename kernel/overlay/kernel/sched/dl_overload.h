/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPUs have deadline tasks that wait: the root domain's second overload set.
 *
 * As for RT tasks: a byte a CPU, written under rq->lock and only on line, one barrier between
 * joining the set and whatever search follows, one before who pulls looks. Every CPU in it is
 * wide: a deadline task may run on all CPUs of its root domain (__sched_setscheduler() and
 * cpuset_can_attach() insist), so that there is nothing to tell apart.
 */
#ifndef _KERNEL_SCHED_DL_OVERLOAD_H
#define _KERNEL_SCHED_DL_OVERLOAD_H

#include <linux/schedshard/overload.h>

/* Are there deadline tasks to pull? Full barrier before; see overload_query_tidy(). */
static inline bool dl_overloaded(struct rq *rq)
{
	return overload_query_now(rq->rd->dlo, rq->cpu) & ~OVERLOAD_SELF;
}

#define for_each_dl_overloaded(cpu, rq)                             \
	for (cpu = overload_next_wide((rq)->rd->dlo, -1); cpu >= 0; \
	     cpu = overload_next_wide((rq)->rd->dlo, cpu))

#endif /* _KERNEL_SCHED_DL_OVERLOAD_H */
