/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The root domain's second overload set: CPUs with waiting deadline tasks. It works as that of RT
 * tasks (rt_overload.h), with the same barriers. Every CPU in it is wide: a deadline task may run
 * on all CPUs of its root domain, as __sched_setscheduler() and cpuset_can_attach() ensure.
 */
#ifndef _KERNEL_SCHED_DL_OVERLOAD_H
#define _KERNEL_SCHED_DL_OVERLOAD_H

#include <linux/schedshard/overload.h>

/* Could @rq pull deadline tasks? Full barrier first, F2: pairs with P2 in overload_set(). */
static inline bool dl_overloaded(struct rq *rq)
{
	return overload_query_now(rq->rd->dlo, rq->cpu) & ~OVERLOAD_SELF;
}

#define for_each_dl_overloaded(cpu, rq)                             \
	for (cpu = overload_next_wide((rq)->rd->dlo, -1); cpu >= 0; \
	     cpu = overload_next_wide((rq)->rd->dlo, cpu))

#endif /* _KERNEL_SCHED_DL_OVERLOAD_H */
