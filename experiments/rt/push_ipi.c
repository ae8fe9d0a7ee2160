// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Pull by a walk of interrupts: instead of taking the locks of all overloaded queues, who wants
 * tasks lets one interrupt travel from overloaded CPU to overloaded CPU; each pushes what it
 * has.
 *
 * Why a request is never lost is for the layout to say, which keeps the walk's state: either the
 * request starts a walk, or one that is under way begins another round after it. Here: there
 * is one walk at a time, so that one word a CPU (irq_work) can say that it has arrived.
 */
#include "rq.h"

static void send(struct rt_cpu *me, u32 cpu)
{
	me->stats.steps++;
	if (!port_xchg64(&rt_rq_of(me, cpu)->irq_work, 1))
		rt_kick(me, cpu);
}

void rt_tell_to_push(struct rt_cpu *me, struct rt_rq *rq)
{
	s64 cpu = me->rt->ops->walk_request(rq->rd, rq->cpu);

	if (cpu < 0)
		return;
	me->stats.walks++;
	send(me, (u32)cpu);
}

/* The walk has arrived on this CPU. */
void rt_push_work(struct rt_cpu *me)
{
	struct rt_rq *rq = me->rq;
	s64 cpu;

	port_xchg64(&rq->irq_work, 0);
	me->rt->ops->walk_arrive(rq->rd, rq->cpu);
	if (!rt_list_empty(&rq->pushable)) {
		rt_lock(&rq->lock);
		rt_push_all(me, rq);
		rt_unlock(&rq->lock);
	}
	cpu = me->rt->ops->walk_next(rq->rd, rq->cpu);
	if (cpu >= 0)
		send(me, (u32)cpu);
}
