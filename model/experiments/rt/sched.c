// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The context switch. The order of its steps matters. A task that sleeps leaves its queue first,
 * which updates the map. Then the CPU pulls if its level dropped, and then picks the next task. The
 * previous task may run elsewhere only when on_cpu says that its registers are saved. The CPU
 * pushes the waiting tasks last, when the new task already runs.
 */
#include "rq.h"

struct search {
	struct rt_cpu *me;
	struct rt_task *found;
};

/*
 * Find a normal task that waits behind an RT task and may run here. This is not instrumented, as it
 * reads all threads outside simulated time, where hooks would do nothing.
 */
__attribute__((no_sanitize("thread"))) static void find_waiting(void *arg)
{
	struct search *s = arg;
	const struct rt *rt = s->me->rt;

	for (u32 i = 0; i < rt->nr_threads && !s->found; i++) {
		struct rt_task *p = rt->thread[i]->task;

		if (p->level == RT_NORMAL && p->on_rq && !p->on_cpu && !p->moving &&
		    p->state == RT_RUNNABLE && rt_may_run(p, s->me->number) &&
		    rt_rq_of(s->me, p->cpu)->rd == s->me->rq->rd)
			s->found = p;
	}
}

/*
 * The fair class's newly idle balancing. It simulates the reads of the root domain and the move of
 * a task. The search is not simulated, so it finds a task at once. There are few normal tasks here,
 * and they must not wait behind RT tasks for longer than in Linux.
 */
static void newly_idle(struct rt_cpu *me, struct rt_rq *rq)
{
	struct search s = { .me = me };
	struct rt_rq *from;

	me->stats.newidle++;
	if (!READ_ONCE(*me->rt->ops->flag(rq->rd)))
		return;
	sim_observe(find_waiting, &s);
	if (!s.found)
		return;
	from = rt_rq_of(me, READ_ONCE(s.found->cpu));
	if (from == rq)
		return;
	rt_double_lock(rq, from);
	if (READ_ONCE(s.found->cpu) == from->cpu && s.found->on_rq && from->curr != s.found &&
	    rt_may_run(s.found, rq->cpu) && s.found->level == RT_NORMAL)
		rt_move(me, from, rq, s.found);
	rt_unlock(&from->lock);
}

static void leave_queue(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *prev)
{
	if (READ_ONCE(prev->state) == RT_ASLEEP) {
		rt_dequeue(me, rq, prev);
	} else if (READ_ONCE(prev->moving)) {
		rt_dequeue(me, rq, prev);
		me->leaving = prev;
	} else if (me->requeue) {
		rt_requeue(rq, prev, false);
	}
	me->requeue = false;
}

void rt_balance_callbacks(struct rt_cpu *me, struct rt_rq *rq)
{
	if (me->pull) {
		me->pull = false;
		rt_pull(me, rq);
	}
	if (me->push) {
		me->push = false;
		rt_push_all(me, rq);
	}
}

static void switch_to(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *prev,
		      struct rt_task *next)
{
	struct rt_thread *t = next->thread;

	if (prev != me->idle)
		rt_put_prev(me, rq, prev);
	if (next != me->idle)
		rt_set_next(me, rq, next);
	WRITE_ONCE(rq->curr, next);
	WRITE_ONCE(next->on_cpu, 1);
	me->curr = next;
	me->stats.switches++;
	sim_spend(me->rt->costs.context_switch);
	if (t && t->woken_at) {
		t->latency = sim_now() - t->woken_at;
		t->woken_at = 0;
	}
	smp_store_release(&prev->on_cpu, 0); /* pairs with the acquire in rt_wake() */
}

void rt_schedule(struct rt_cpu *me)
{
	struct rt_rq *rq = me->rq;
	struct rt_task *prev = me->curr, *next;

	sim_spend(me->rt->costs.schedule);
	rt_lock(&rq->lock);
	if (prev != me->idle) {
		leave_queue(me, rq, prev);
		if (prev->level >= 1 && !prev->on_rq && rq->level < prev->level)
			rt_pull(me, rq);
		if (!rq->nr_running)
			newly_idle(me, rq);
	}
	next = rt_pick(rq);
	if (!next)
		next = me->idle;
	WRITE_ONCE(rq->resched, 0);
	if (next != prev)
		switch_to(me, rq, prev, next);
	rt_balance_callbacks(me, rq);
	rt_unlock(&rq->lock);
	rt_leave(me);
}
