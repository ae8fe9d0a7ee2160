// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Pulls by a walk of interrupts. A CPU that wants tasks does not lock all overloaded queues, but
 * sends an interrupt, which travels from one overloaded CPU to the next; each pushes its tasks.
 *
 * A request starts a walk, or makes a walk under way begin another round. The layout keeps the
 * state of the walk, and the layout's file says why no request is lost.
 *
 * A CPU that knows which queues have tasks for it sends an interrupt to each of these queues' CPUs
 * instead. An interrupt that is already under way serves a second request too, because the CPU that
 * receives the interrupt clears its bit before it pushes.
 */
#include "rq.h"

static void send(struct rt_cpu *me, u64 what, u32 cpu)
{
	me->stats.steps++;
	if (!port_fetch_or64(&rt_rq_of(me, cpu)->irq_work, what))
		rt_kick(me, cpu);
}

void rt_ask_to_push(struct rt_cpu *me, u32 cpu)
{
	send(me, RT_ASKED, cpu);
}

void rt_tell_to_push(struct rt_cpu *me, struct rt_rq *rq)
{
	u64 begin = sim_now();
	s64 cpu = me->rt->ops->walk_request(rq->rd, rq->cpu);

	me->stats.walk_time += sim_now() - begin;
	if (cpu < 0)
		return;
	me->stats.walks++;
	send(me, RT_WALK, (u32)cpu);
}

void rt_push_work(struct rt_cpu *me)
{
	struct rt_rq *rq = me->rq;
	u64 arrived = port_xchg64(&rq->irq_work, 0), begin = sim_now();
	s64 cpu;

	if (arrived & RT_WALK)
		me->rt->ops->walk_arrive(rq->rd, rq->cpu);
	me->stats.walk_time += sim_now() - begin;
	if (!rt_list_empty(&rq->pushable)) {
		rt_lock(&rq->lock);
		rt_push_all(me, rq);
		rt_unlock(&rq->lock);
	}
	if (!(arrived & RT_WALK))
		return;
	begin = sim_now();
	cpu = me->rt->ops->walk_next(rq->rd, rq->cpu);
	me->stats.walk_time += sim_now() - begin;
	if (cpu >= 0)
		send(me, RT_WALK, (u32)cpu);
}
