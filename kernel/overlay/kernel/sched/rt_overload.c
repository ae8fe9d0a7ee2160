// SPDX-License-Identifier: GPL-2.0-only
/*
 * Joining and leaving the overload set: the part of rt_overload.h that is not worth a copy at each
 * of the places where the state may change.
 *
 * Nothing here needs a barrier of its own. overload_set() ends with the one that comes before a
 * search for a lower CPU; a byte that is cleared late costs somebody a look at a queue that has
 * nothing to give, which the lock of that queue then tells.
 */
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
