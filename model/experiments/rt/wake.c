// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why no wake-up is lost: a sleeper stores RT_ASLEEP before it releases what it waits for. A waker
 * changes the state under the task's lock, so one of two wakers does the work. If the sleeper has
 * not left its queue yet, that queue's lock decides. Either the waker finds the sleeper still there
 * and makes it runnable, or the sleeper has left. Then the waker waits until the sleeper's CPU has
 * switched away, because a task must not run on two CPUs.
 *
 * A waker puts a task for an idle CPU, or a CPU of another cache, on that CPU's list, and that CPU
 * does the rest. Until then p->state is RT_WAKING, which stops other wakers.
 */
#include "rq.h"

#define SPIN 20000 /* ps between two reads of on_cpu */

/*
 * @p has the level of the running task. If the running task could move and @p could not, swap them:
 * the running task will be pushed.
 */
static void preempt_equal(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p)
{
	if (rq->curr->nr_allowed == 1 || !rt_find(me, rq->curr, NULL))
		return;
	if (p->nr_allowed != 1 && rt_find(me, p, NULL))
		return;
	rt_requeue(rq, p, true);
	rt_resched(me, rq);
}

static void preempt(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p)
{
	s32 running = rq->curr->level;

	if (p->level > running)
		rt_resched(me, rq);
	else if (p->level == running && p->level >= 1 && !READ_ONCE(rq->resched))
		preempt_equal(me, rq, p);
}

/* Put a woken task on a queue whose lock is held. */
void rt_activate(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p)
{
	rt_enqueue(me, rq, p, false);
	preempt(me, rq, p);
	WRITE_ONCE(p->state, RT_RUNNABLE);
	if (p->level >= 1 && !READ_ONCE(p->on_cpu) && !READ_ONCE(rq->resched) &&
	    p->nr_allowed > 1 && rq->curr->level >= 1 &&
	    (rq->curr->nr_allowed < 2 || rq->curr->level >= p->level))
		rt_push_all(me, rq);
}

struct rt_rq *rt_lock_queue_of(struct rt_cpu *me, struct rt_task *p)
{
	for (;;) {
		struct rt_rq *rq = rt_rq_of(me, READ_ONCE(p->cpu));

		rt_lock(&rq->lock);
		if (READ_ONCE(p->cpu) == rq->cpu)
			return rq;
		rt_unlock(&rq->lock); /* pushed or pulled meanwhile */
	}
}

/* The task has not left its queue: it continues. */
static bool wake_queued(struct rt_cpu *me, struct rt_task *p)
{
	struct rt_rq *rq = rt_lock_queue_of(me, p);
	bool queued = p->on_rq;

	if (queued) {
		if (!READ_ONCE(p->on_cpu))
			preempt(me, rq, p);
		WRITE_ONCE(p->state, RT_RUNNABLE);
	}
	rt_unlock(&rq->lock);
	return queued;
}

/* Leave the rest of a wake-up to the CPU, if that is better. Return: whether it is left. */
static bool hand_over(struct rt_cpu *me, struct rt_task *p, u32 cpu)
{
	struct rt_rq *rq = rt_rq_of(me, cpu);
	struct rt_task *first;

	if (rt_share_cache(me, cpu) && (cpu == me->number || READ_ONCE(rq->nr_running)))
		return false;
	if (!rt_may_run(p, cpu))
		return false;
	first = READ_ONCE(rq->wake_list);
	do {
		WRITE_ONCE(p->wake_next, first);
	} while (!__atomic_compare_exchange_n(&rq->wake_list, &first, p, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	if (!first)
		rt_kick(me, cpu);
	me->stats.remote_wakeups++;
	return true;
}

static void find_in_vain(struct rt_cpu *me, struct rt_task *p)
{
	if (p->level < 1 || p->nr_allowed < 2)
		return;
	me->extra_finds += me->rt->extra_finds;
	for (; me->extra_finds >= 1000; me->extra_finds -= 1000)
		rt_find(me, p, me->lowest);
}

/* Choose a CPU for @p, which does not run and is on no queue; its lock is held. */
void rt_place(struct rt_cpu *me, struct rt_task *p)
{
	u32 cpu = rt_select(me, p);
	struct rt_rq *rq = rt_rq_of(me, cpu);

	find_in_vain(me, p);
	if (cpu != p->cpu) {
		rt_note_migration(me, p->cpu, cpu);
		WRITE_ONCE(p->cpu, cpu);
	}
	if (READ_ONCE(p->moving))
		WRITE_ONCE(p->moving, 0);
	if (hand_over(me, p, cpu))
		return;
	rt_lock(&rq->lock);
	rt_activate(me, rq, p);
	rt_unlock(&rq->lock);
}

bool rt_wake(struct rt_cpu *me, struct rt_task *p)
{
	sim_spend(me->rt->costs.wake);
	rt_lock(&p->lock);
	if (READ_ONCE(p->state) != RT_ASLEEP) {
		rt_unlock(&p->lock);
		return false;
	}
	me->stats.wakeups++;
	p->thread->woken_at = sim_now();
	if (READ_ONCE(p->on_rq) && wake_queued(me, p)) {
		rt_unlock(&p->lock);
		return true;
	}
	WRITE_ONCE(p->state, RT_WAKING);
	if (!READ_ONCE(p->on_cpu) || !hand_over(me, p, p->cpu)) {
		while (smp_load_acquire(&p->on_cpu))
			sim_spend(SPIN);
		rt_place(me, p);
	}
	rt_unlock(&p->lock);
	return true;
}

/* A task that may no longer use its CPU goes to another one. */
static void relocate(struct rt_cpu *me, struct rt_task *p)
{
	rt_lock(&p->lock);
	WRITE_ONCE(p->state, RT_WAKING);
	rt_place(me, p);
	rt_unlock(&p->lock);
}

void rt_leave(struct rt_cpu *me)
{
	struct rt_task *p = me->leaving;

	me->leaving = NULL;
	if (p)
		relocate(me, p);
}

/* Activate the tasks that other CPUs woke for this one. */
void rt_take_woken(struct rt_cpu *me)
{
	struct rt_rq *rq = me->rq;
	struct rt_task *p = __atomic_exchange_n(&rq->wake_list, NULL, __ATOMIC_SEQ_CST);
	struct rt_task *list = NULL, *gone = NULL;

	while (p) { /* first come, first queued */
		struct rt_task *next = p->wake_next;

		p->wake_next = list;
		list = p;
		p = next;
	}
	rt_lock(&rq->lock);
	while (list) {
		p = list;
		list = p->wake_next;
		if (READ_ONCE(p->moving)) {
			p->wake_next = gone;
			gone = p;
		} else {
			rt_activate(me, rq, p);
		}
	}
	rt_unlock(&rq->lock);
	while (gone) {
		p = gone;
		gone = p->wake_next;
		relocate(me, p);
	}
}
