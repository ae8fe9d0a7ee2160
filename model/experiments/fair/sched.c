// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The context switch. The order of its steps matters. A task that sleeps leaves its queue first.
 * Then a CPU without tasks balances, with its queue's lock released, so that other CPUs may send it
 * a task meanwhile. Then the CPU picks the next task. The previous task may run elsewhere only when
 * on_cpu says that its registers are saved.
 */
#include "fair_rq.h"

static void leave_queue(struct fair_cpu *me, struct fair_rq *rq, struct fair_task *prev)
{
	s64 to = me->evict_to;

	me->evict_to = -1;
	if (READ_ONCE(prev->state) == FAIR_ASLEEP) {
		fair_dequeue(me, rq, prev);
	} else if (to >= 0) {
		fair_dequeue(me, rq, prev);
		me->leaving = prev;
		me->leave_to = (u32)to;
	} else {
		fair_requeue(rq, prev);
	}
}

static void switch_to(struct fair_cpu *me, struct fair_rq *rq, struct fair_task *prev,
		      struct fair_task *next)
{
	WRITE_ONCE(rq->curr, next);
	WRITE_ONCE(next->on_cpu, 1);
	me->curr = next;
	sim_spend(me->fair->costs.context_switch);
	smp_store_release(&prev->on_cpu, 0); /* pairs with the acquire in fair_wake() */
}

/* A CPU without tasks looks for some, with no lock held. */
static void ran_out(struct fair_cpu *me, struct fair_rq *rq)
{
	rq->idle_since = sim_now();
	rt_unlock(&rq->lock);
	if (fair_newidle(me))
		rq->idle_since = 0;
	else
		fair_nohz_newidle(me);
	if (READ_ONCE(rq->wake_list))
		fair_take_woken(me);
	rt_lock(&rq->lock);
}

void fair_schedule(struct fair_cpu *me)
{
	struct fair_rq *rq = me->rq;
	struct fair_task *prev = me->curr, *next;

	sim_spend(me->fair->costs.schedule);
	rt_lock(&rq->lock);
	if (prev != me->idle)
		leave_queue(me, rq, prev);
	else
		me->evict_to = -1;
	if (prev != me->idle && !rq->nr_running)
		ran_out(me, rq);
	next = fair_pick(me, rq);
	if (!next)
		next = me->idle;
	WRITE_ONCE(rq->resched, 0);
	if (next != prev)
		switch_to(me, rq, prev, next);
	rt_unlock(&rq->lock);
	if (next == me->idle && prev != next)
		fair_core_went_idle(me);
	if (me->leaving) {
		struct fair_task *p = me->leaving;

		me->leaving = NULL;
		fair_move_to(me, p, me->leave_to);
	}
}
