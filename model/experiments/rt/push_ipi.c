// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Pull by a walk of interrupts. A CPU that wants tasks does not lock all overloaded queues. It
 * sends one interrupt, which travels from one overloaded CPU to the next; each pushes its tasks.
 *
 * The layout keeps the state of the walk, and its file says why no request is lost. A request
 * starts a walk, or makes a walk under way begin another round. Here each walk is one interrupt,
 * and only two walks visit a CPU: its shard's and the machine's. So one word per CPU (irq_work) has
 * a bit for each of them: the walk has arrived.
 */
#include "rq.h"

static void send(struct rt_cpu *me, u32 walk, u32 cpu)
{
	me->stats.steps++;
	if (!port_fetch_or64(&rt_rq_of(me, cpu)->irq_work, 1ull << walk))
		rt_kick(me, cpu);
}

void rt_tell_to_push(struct rt_cpu *me, struct rt_rq *rq, u32 walk)
{
	u64 begin = sim_now();
	s64 cpu = me->rt->ops->walk_request(rq->rd, rq->cpu, walk);

	me->stats.walk_time += sim_now() - begin;
	if (cpu < 0)
		return;
	me->stats.walks++;
	send(me, walk, (u32)cpu);
}

/* One or two walks have arrived on this CPU. */
void rt_push_work(struct rt_cpu *me)
{
	struct rt_rq *rq = me->rq;
	u64 arrived = port_xchg64(&rq->irq_work, 0), begin = sim_now();

	for (u32 walk = 0; walk < 2; walk++)
		if (arrived >> walk & 1)
			me->rt->ops->walk_arrive(rq->rd, rq->cpu, walk);
	me->stats.walk_time += sim_now() - begin;
	if (!rt_list_empty(&rq->pushable)) {
		rt_lock(&rq->lock);
		rt_push_all(me, rq);
		rt_unlock(&rq->lock);
	}
	for (u32 walk = 0; walk < 2; walk++) {
		s64 cpu;

		if (!(arrived >> walk & 1))
			continue;
		begin = sim_now();
		cpu = me->rt->ops->walk_next(rq->rd, rq->cpu, walk);
		me->stats.walk_time += sim_now() - begin;
		if (cpu >= 0)
			send(me, walk, (u32)cpu);
	}
}
