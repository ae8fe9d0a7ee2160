// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Changes level or allowed CPUs of a task that may be queued or running. Under the queue's lock the
 * task leaves the queue with the old values and returns with the new ones, so the map and the
 * overload set change too. Then another task may have to run here, or tasks of other CPUs may come.
 * As in Linux the map sees both steps: between them a running task whose level changes is absent.
 */
#include "rq.h"

#include <string.h>

/* @p is queued or running on @rq at its new level. */
static void level_changed(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p, s32 old)
{
	if (rq->curr == p) {
		if (old >= 1 && p->level < old && (p->level >= 1 || !rq->nr_rt))
			me->pull = true;
		if (rq->level > p->level)
			rt_resched(me, rq);
		return;
	}
	if (old < 1 && p->level >= 1 && p->nr_allowed > 1 && rq->overloaded)
		me->push = true;
	if (old >= 1 && p->level < 1 && !rq->nr_rt)
		me->pull = true;
	if (p->level > rq->curr->level)
		rt_resched(me, rq);
}

void rt_set_level(struct rt_cpu *me, struct rt_task *p, int level)
{
	struct rt_rq *rq;
	bool queued;
	s32 old;

	rt_lock(&p->lock);
	rq = rt_lock_queue_of(me, p);
	old = p->level;
	if (old != level) {
		queued = p->on_rq;
		if (queued)
			rt_dequeue(me, rq, p);
		WRITE_ONCE(p->level, level);
		if (queued) {
			rt_enqueue(me, rq, p, level < old);
			level_changed(me, rq, p, old);
		}
	}
	rt_balance_callbacks(me, rq);
	rt_unlock(&rq->lock);
	rt_unlock(&p->lock);
}

static void set_mask(struct rt_cpu *me, struct rt_task *p, const unsigned long *allowed)
{
	p->nr_allowed = 0;
	for (u32 w = 0; w < me->rt->mask_words; w++) {
		p->allowed[w] = allowed[w];
		p->nr_allowed += port_popcount64(allowed[w]);
	}
	if (me->rt->ops->reach)
		p->reach = me->rt->ops->reach(allowed);
}

void rt_set_affinity(struct rt_cpu *me, struct rt_task *p, const unsigned long *allowed)
{
	struct rt_rq *rq;
	bool queued;

	rt_lock(&p->lock);
	rq = rt_lock_queue_of(me, p);
	queued = p->on_rq;
	if (queued)
		rt_dequeue(me, rq, p);
	set_mask(me, p, allowed);
	if (!queued) {
		if (!rt_may_run(p, rq->cpu))
			WRITE_ONCE(p->moving, 1);
	} else if (rt_may_run(p, rq->cpu) || rq->curr == p) {
		rt_enqueue(me, rq, p, false);
		WRITE_ONCE(p->moving, !rt_may_run(p, rq->cpu));
		if (p->moving)
			rt_resched(me, rq);
		else if (p->pushable)
			me->push = true;
	} else {
		/* The task waits on a queue that it must leave: treat it as woken. */
		rt_unlock(&rq->lock);
		WRITE_ONCE(p->state, RT_WAKING);
		rt_place(me, p);
		rt_unlock(&p->lock);
		return;
	}
	rt_balance_callbacks(me, rq);
	rt_unlock(&rq->lock);
	rt_unlock(&p->lock);
}
