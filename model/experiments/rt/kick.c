// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Interrupt another CPU; cpu.c says why no interrupt is lost. */
#include "rq.h"

void rt_kick(struct rt_cpu *me, u32 cpu)
{
	const struct rt_cpu *other = me->rt->by_number[cpu];

	/* An idle CPU monitors its line: a store there wakes it, without an interrupt. */
	if (other->mode != RT_HALTED) {
		sim_spend(me->rt->costs.ipi_send);
		me->stats.ipis++;
	}
	sim_interrupt(other->index, me->rt->costs.ipi_travel);
}

void rt_resched(struct rt_cpu *me, struct rt_rq *rq)
{
	if (READ_ONCE(rq->resched))
		return;
	WRITE_ONCE(rq->resched, 1);
	if (rq->cpu != me->number)
		rt_kick(me, rq->cpu);
}
