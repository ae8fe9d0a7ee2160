// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Chooses the task that runs next, the waiting one with the lowest vruntime. All tasks have the
 * same weight and the same slice, so Linux's earliest virtual deadline is the lowest vruntime too.
 * A running task runs until its slice ends or it sleeps (RUN_TO_PARITY).
 *
 * Why no task starves: vruntime grows only by running, and the task with the lowest vruntime runs.
 * A new task starts at the queue's lowest vruntime or later. A sleeper keeps its distance from the
 * others (at most a slice). Otherwise a task could run more by sleeping briefly.
 *
 * The running task is on no list; it counts in nr_running.
 */
#include "fair_rq.h"

static void raise_min(struct fair_rq *rq)
{
	u64 least = UINT64_MAX;

	if (rq->curr->on_rq)
		least = rq->curr->vruntime;
	if (!rt_list_empty(&rq->queue)) {
		u64 first = rt_list_item(rq->queue.next, struct fair_task, run_node)->vruntime;

		least = first < least ? first : least;
	}
	if (least != UINT64_MAX && least > rq->min_vruntime)
		rq->min_vruntime = least;
}

void fair_count_run(struct fair_rq *rq, struct fair_task *p)
{
	u64 now = sim_now();

	if (now <= p->exec_start)
		return;
	p->vruntime += now - p->exec_start;
	p->exec_start = now;
	raise_min(rq);
}

/*
 * Insert a task after all with a lower or equal vruntime; the search starts at the end of the list.
 */
static void link(struct fair_rq *rq, struct fair_task *p)
{
	struct rt_list *at = &rq->queue;

	while (at->prev != &rq->queue &&
	       rt_list_item(at->prev, struct fair_task, run_node)->vruntime > p->vruntime)
		at = at->prev;
	rt_list_add_before(&p->run_node, at);
}

/* The root domain's flag: written only when it changes. */
static void two_running(struct fair_cpu *me)
{
	if (!READ_ONCE(*me->fair->overloaded))
		WRITE_ONCE(*me->fair->overloaded, 1);
}

void fair_enqueue(struct fair_cpu *me, struct fair_rq *rq, struct fair_task *p)
{
	sim_spend(me->fair->costs.queue);
	p->vruntime = rq->min_vruntime + p->lag;
	WRITE_ONCE(p->on_rq, 1);
	link(rq, p);
	WRITE_ONCE(rq->nr_running, rq->nr_running + 1);
	if (rq->nr_running == 2)
		two_running(me);
	if (!READ_ONCE(rq->has_blocked))
		WRITE_ONCE(rq->has_blocked, 1);
}

void fair_dequeue(struct fair_cpu *me, struct fair_rq *rq, struct fair_task *p)
{
	u64 slice = me->fair->costs.slice;

	sim_spend(me->fair->costs.queue);
	if (rq->curr == p)
		fair_count_run(rq, p);
	else
		rt_list_del(&p->run_node);
	p->lag = p->vruntime > rq->min_vruntime ? p->vruntime - rq->min_vruntime : 0;
	if (p->lag > slice)
		p->lag = slice;
	WRITE_ONCE(p->on_rq, 0);
	WRITE_ONCE(rq->nr_running, rq->nr_running - 1);
	raise_min(rq);
}

void fair_requeue(struct fair_rq *rq, struct fair_task *p)
{
	fair_count_run(rq, p);
	link(rq, p);
}

struct fair_task *fair_pick(struct fair_cpu *me, struct fair_rq *rq)
{
	struct fair_task *p;

	if (rt_list_empty(&rq->queue))
		return NULL;
	p = rt_list_item(rq->queue.next, struct fair_task, run_node);
	rt_list_del(&p->run_node);
	p->exec_start = sim_now();
	p->slice_end = p->vruntime + me->fair->costs.slice;
	return p;
}
