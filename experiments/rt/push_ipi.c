// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Pull by a walk of interrupts: instead of taking the locks of all overloaded queues, who wants
 * tasks lets one interrupt travel from overloaded CPU to overloaded CPU; each pushes what it
 * has.
 *
 * Why a request is never lost: loop_next is raised first. Either the requester starts the
 * walk, or somebody else is starting one (loop_start) or has one under way (cpu >= 0); a walk
 * that comes to its end compares loop_next with what it saw last, and goes round again if it
 * changed.
 */
#include "rq.h"

static s64 next_stop(struct rt_cpu *me, struct rd *rd, const struct rd_loop *l)
{
	for (;;) {
		s64 cpu = me->rt->ops->next(rd, READ_ONCE(*l->cpu));
		u32 wanted;

		WRITE_ONCE(*l->cpu, (s32)cpu);
		if (cpu >= 0)
			return cpu;
		/* Pairs with the full barrier of the increment in rt_tell_to_push(). */
		wanted = smp_load_acquire(l->loop_next);
		if (*l->loop == (s32)wanted)
			return -1;
		*l->loop = (s32)wanted;
	}
}

/* The work item says pending and busy; the target's queue of such items gets it. */
static void send_work(struct rt_cpu *me, const struct rd_loop *l, u32 cpu)
{
	port_fetch_or64(l->work, 3);
	if (!port_xchg64(&rt_rq_of(me, cpu)->irq_work, 1))
		rt_kick(me, cpu);
	me->stats.steps++;
}

void rt_tell_to_push(struct rt_cpu *me, struct rt_rq *rq)
{
	struct rd_loop l = me->rt->ops->loop(rq->rd);
	u32 idle = 0;
	s64 cpu = -1;

	__atomic_fetch_add(l.loop_next, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_compare_exchange_n(l.loop_start, &idle, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return;
	rt_lock(l.lock);
	if (READ_ONCE(*l.cpu) < 0)
		cpu = next_stop(me, rq->rd, &l);
	rt_unlock(l.lock);
	smp_store_release(l.loop_start, 0);
	if (cpu < 0)
		return;
	__atomic_fetch_add(l.refcount, 1, __ATOMIC_SEQ_CST);
	me->stats.walks++;
	send_work(me, &l, (u32)cpu);
}

/* The walk has arrived on this CPU. */
void rt_push_work(struct rt_cpu *me)
{
	struct rt_rq *rq = me->rq;
	struct rd_loop l = me->rt->ops->loop(rq->rd);
	s64 cpu;

	port_xchg64(&rq->irq_work, 0);
	port_fetch_and64(l.work, ~1ull);
	if (!rt_list_empty(&rq->pushable)) {
		rt_lock(&rq->lock);
		rt_push_all(me, rq);
		rt_unlock(&rq->lock);
	}
	rt_lock(l.lock);
	cpu = next_stop(me, rq->rd, &l);
	rt_unlock(l.lock);
	if (cpu >= 0)
		send_work(me, &l, (u32)cpu);
	else
		__atomic_fetch_sub(l.refcount, 1, __ATOMIC_SEQ_CST);
}
