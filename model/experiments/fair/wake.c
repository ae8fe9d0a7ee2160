// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why no wake-up is lost, and which tasks go to a CPU's list: as in rt/wake.c. A CPU with a task on
 * its list counts as busy (pending); otherwise every waker would send tasks there.
 */
#include "fair_rq.h"

#define SPIN 20000 /* ps between two reads of on_cpu */

void fair_kick(struct fair_cpu *me, u32 cpu)
{
	const struct fair_cpu *other = &me->fair->cpu[cpu];

	/* An idle CPU monitors its line: a store there wakes it, without an interrupt. */
	if (other->mode != FAIR_HALTED)
		sim_spend(me->fair->costs.ipi_send);
	sim_interrupt(other->index, me->fair->costs.ipi_travel);
}

void fair_resched(struct fair_cpu *me, struct fair_rq *rq)
{
	if (READ_ONCE(rq->resched))
		return;
	WRITE_ONCE(rq->resched, 1);
	if (rq->cpu != me->index)
		fair_kick(me, rq->cpu);
}

/* Include the idle time that just ended in the average, up to twice the cost of a search. */
static void end_idle_time(struct fair_rq *rq)
{
	u64 since = rq->idle_since, now = sim_now(), most = 2 * rq->max_idle_cost, idle;

	if (!since)
		return;
	idle = now > since ? now - since : 0;
	if (idle > rq->avg_idle)
		rq->avg_idle += (idle - rq->avg_idle) / 8;
	else
		rq->avg_idle -= (rq->avg_idle - idle) / 8;
	if (rq->avg_idle > most)
		rq->avg_idle = most;
	rq->idle_since = 0;
}

/* Put a task on a queue whose lock is held. Only an idle CPU must switch. */
void fair_activate(struct fair_cpu *me, struct fair_rq *rq, struct fair_task *p)
{
	fair_enqueue(me, rq, p);
	WRITE_ONCE(p->state, FAIR_RUNNABLE);
	if (rq->curr == me->fair->cpu[rq->cpu].idle)
		fair_resched(me, rq);
}

static void activate_woken(struct fair_cpu *me, struct fair_rq *rq, struct fair_task *p)
{
	end_idle_time(rq);
	fair_activate(me, rq, p);
}

void fair_move_to(struct fair_cpu *me, struct fair_task *p, u32 cpu)
{
	struct fair_rq *rq = fair_rq_of(me, cpu);

	rt_lock(&rq->lock);
	WRITE_ONCE(p->recent, READ_ONCE(p->cpu));
	WRITE_ONCE(p->cpu, cpu);
	fair_activate(me, rq, p);
	rt_unlock(&rq->lock);
}

static struct fair_rq *lock_queue_of(struct fair_cpu *me, struct fair_task *p)
{
	for (;;) {
		struct fair_rq *rq = fair_rq_of(me, READ_ONCE(p->cpu));

		rt_lock(&rq->lock);
		if (READ_ONCE(p->cpu) == rq->cpu)
			return rq;
		rt_unlock(&rq->lock); /* moved meanwhile */
	}
}

/* The task has not left its queue: it continues. */
static bool wake_queued(struct fair_cpu *me, struct fair_task *p)
{
	struct fair_rq *rq = lock_queue_of(me, p);
	bool queued = p->on_rq;

	if (queued)
		WRITE_ONCE(p->state, FAIR_RUNNABLE);
	rt_unlock(&rq->lock);
	return queued;
}

/* Leave the rest of a wake-up to the CPU, if that is better. Return: whether it is left. */
static bool hand_over(struct fair_cpu *me, struct fair_task *p, u32 cpu)
{
	struct fair_rq *rq = fair_rq_of(me, cpu);
	struct fair_task *first;

	if (fair_share_cache(me, me->index, cpu) && (cpu == me->index || READ_ONCE(rq->nr_running)))
		return false;
	WRITE_ONCE(rq->pending, 1);
	first = READ_ONCE(rq->wake_list);
	do {
		WRITE_ONCE(p->wake_next, first);
	} while (!__atomic_compare_exchange_n(&rq->wake_list, &first, p, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	if (!first)
		fair_kick(me, cpu);
	return true;
}

/* Choose a CPU for @p, which does not run and is on no queue; its lock is held. */
static void place(struct fair_cpu *me, struct fair_task *p, bool sync)
{
	u32 cpu = fair_select(me, p, sync);

	if (cpu != READ_ONCE(p->cpu)) {
		WRITE_ONCE(p->recent, p->cpu);
		WRITE_ONCE(p->cpu, cpu);
	}
	if (hand_over(me, p, cpu))
		return;
	rt_lock(&fair_rq_of(me, cpu)->lock);
	activate_woken(me, fair_rq_of(me, cpu), p);
	rt_unlock(&fair_rq_of(me, cpu)->lock);
}

bool fair_wake(struct fair_cpu *me, struct fair_task *p, bool sync)
{
	sim_spend(me->fair->costs.wake);
	rt_lock(&p->lock);
	if (READ_ONCE(p->state) != FAIR_ASLEEP) {
		rt_unlock(&p->lock);
		return false;
	}
	me->stats.wakeups++;
	if (READ_ONCE(p->on_rq) && wake_queued(me, p)) {
		rt_unlock(&p->lock);
		return true;
	}
	WRITE_ONCE(p->state, FAIR_WAKING);
	if (!READ_ONCE(p->on_cpu) || !hand_over(me, p, p->cpu)) {
		while (smp_load_acquire(&p->on_cpu))
			sim_spend(SPIN);
		place(me, p, sync);
	}
	rt_unlock(&p->lock);
	return true;
}

/* Activate the tasks that other CPUs woke for this one. */
void fair_take_woken(struct fair_cpu *me)
{
	struct fair_rq *rq = me->rq;
	struct fair_task *p = __atomic_exchange_n(&rq->wake_list, NULL, __ATOMIC_SEQ_CST);
	struct fair_task *list = NULL;

	while (p) { /* first come, first queued */
		struct fair_task *next = p->wake_next;

		p->wake_next = list;
		list = p;
		p = next;
	}
	rt_lock(&rq->lock);
	while (list) {
		struct fair_task *next = list->wake_next;

		activate_woken(me, rq, list);
		list = next;
	}
	/*
	 * A task that arrives after the exchange sets pending again, and its waker interrupts this
	 * CPU.
	 */
	WRITE_ONCE(rq->pending, READ_ONCE(rq->wake_list) != NULL);
	rt_unlock(&rq->lock);
}
