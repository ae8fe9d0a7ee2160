// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue joins or leaves the overload set. This file needs no barrier of its own: overload_set()
 * has the one before a search for a lower CPU. A CPU that sees a cleared byte late looks at a queue
 * without need.
 */
/* Before mmu_context.h: that of m68k uses its types. */
#include <linux/mm_types.h>
#include <linux/mmu_context.h>
#include "sched.h"

void rt_overload_publish(struct rq *rq)
{
	if (rq->rt.overloaded)
		overload_set(rq->rd->rto, rq->cpu, rq->rt.overloaded == OVERLOAD_BYTE_WIDE);
	else
		overload_clear(rq->rd->rto, rq->cpu);
}

void rt_overload_change(struct rq *rq, u8 state)
{
	lockdep_assert_rq_held(rq);
	rq->rt.overloaded = state;
	if (rq->online)
		rt_overload_publish(rq);
}
