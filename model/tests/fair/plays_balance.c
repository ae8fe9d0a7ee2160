// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests a balance while the CPU of a queue switches: the task that still runs was woken again, so
 * it also waits on the queue. The test makes that state by hand, on an idle CPU without a tick.
 */
#include "cases.h"

#include "fair/fair_rq.h"
#include "model.h"
#include "sim.h"
#include "toy.h"

#define US    1000000ull
#define TASKS 4

struct moment {
	struct fair *fair;
	struct fair_thread *thread[TASKS];
	bool waited, seen;
};

static void nothing(struct fair_cpu *me, struct fair_thread *t)
{
	(void)me;
	t->left = US;
}

/* Makes the first task the running one of @rq, and queues all tasks there. */
static void make(struct fair_cpu *me, struct moment *m, struct fair_rq *rq)
{
	rt_lock(&rq->lock);
	rq->curr = m->thread[0]->task;
	for (u32 i = 0; i < TASKS; i++) {
		m->thread[i]->task->cpu = rq->cpu;
		fair_enqueue(me, rq, m->thread[i]->task);
	}
	rt_unlock(&rq->lock);
}

static void unmake(struct fair_cpu *me, struct moment *m, struct fair_rq *rq)
{
	rt_lock(&rq->lock);
	rq->curr = me->fair->cpu[rq->cpu].idle;
	rt_unlock(&rq->lock);
	for (u32 i = 0; i < TASKS; i++) {
		struct fair_task *p = m->thread[i]->task;
		struct fair_rq *at = fair_rq_of(me, p->cpu);

		rt_lock(&at->lock);
		fair_dequeue(me, at, p);
		rt_unlock(&at->lock);
	}
}

static void take(struct fair_cpu *me, struct fair_thread *t)
{
	struct moment *m = t->arg;
	struct fair_rq *rq;
	u32 came = 0, other = 0;

	if (!m->waited) {
		m->waited = true;
		fair_sleep_until(me, 3000 * US);
		return;
	}
	/* The other thread of this core, whose queue a CPU searches first. */
	while (other == me->index || me->fair->cpu[other].core != me->core)
		other++;
	CHECK(me->fair->cpu[other].tick_off);
	rq = fair_rq_of(me, other);
	make(me, m, rq);
	fair_newidle(me);
	CHECK_EQ(m->thread[0]->task->cpu, other);
	for (u32 i = 1; i < TASKS; i++)
		came += m->thread[i]->task->cpu == me->index;
	CHECK_EQ(came, 1);
	unmake(me, m, rq);
	CHECK(rt_list_empty(&rq->queue));
	m->seen = true;
	fair_stop(me);
	fair_exit(me);
}

void who_still_runs_is_not_taken(const struct idle_ops *ops)
{
	struct moment m = { 0 };

	toy_begin("", 1);
	m.fair = fair_create(toy_model(), ops, &toy_costs, 0);
	CHECK(m.fair);
	for (u32 i = 0; i < TASKS; i++)
		m.thread[i] = fair_thread_new(m.fair, nothing, NULL);
	fair_run(m.fair, fair_thread_new(m.fair, take, &m));
	CHECK(m.seen);
	fair_free(m.fair);
	toy_end();
}
