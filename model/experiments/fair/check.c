// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The invariants that hold while no CPU is inside the kernel and no interrupt is on its way:
 *
 * 1. a runnable task is on exactly one queue, a sleeping one on none; the task's own CPU
 *    number is that of its queue;
 * 2. the queue's counts agree with its list, and the waiting tasks are in order;
 * 3. an idle CPU has no task, and a CPU with tasks runs one of them;
 * 4. the idle set contains exactly the CPUs whose queue has tick_stopped, and so every CPU that
 *    idles without a tick. Each LLC's nr_busy is the number of its CPUs outside of the set;
 * 5. any() is true if the set contains a CPU; pick() and walk() return each CPU of the set once,
 *    and no other;
 * 6. pick() finds an idle load balancer exactly when another CPU of the set idles. With whole_core
 *    the balancer is on an idle core if there is one.
 *
 * The walk and the search of 5 and 6 start at the CPU that checks.
 *
 * The check takes no simulated time (sim_observe()). A search may correct a summary of the set, as
 * searches of the scheduler do.
 */
#include "fair_rq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct look {
	struct fair_cpu *me;
	u8 *task; /* by thread: how often its task is on queues */
	u8 *cpu;  /* by CPU index: how often a walk returned it */
};

static void same(u32 cpu, const char *what, long long is, long long should)
{
	if (is == should)
		return;
	fprintf(stderr, "schedshard: CPU %u: %s is %lld, should be %lld\n", cpu, what, is, should);
	abort();
}

static bool under_way(const struct fair *f)
{
	for (u32 i = 0; i < f->nr_cpus; i++) {
		const struct fair_cpu *c = &f->cpu[i];
		u32 asked = c->rq->nohz_flags & ~(u32)NOHZ_NEWILB;

		if (c->rq->wake_list || c->rq->resched || asked || c->leaving)
			return true;
	}
	return false;
}

static void check_task(struct look *l, const struct fair_rq *rq, const struct fair_task *p)
{
	same(rq->cpu, "a queued task's CPU", p->cpu, rq->cpu);
	same(rq->cpu, "on_rq of a queued task", p->on_rq, 1);
	same(rq->cpu, "state of a queued task", p->state, FAIR_RUNNABLE);
	same(rq->cpu, "on_cpu of a queued task", p->on_cpu, p == rq->curr);
	same(rq->cpu, "how often a task was seen on queues", ++l->task[p->thread->id], 1);
}

static void check_queue(struct look *l, const struct fair_cpu *c)
{
	const struct fair_rq *rq = c->rq;
	bool runs = rq->curr != c->idle;
	u64 vruntime = 0;
	u32 n = 0;

	for (const struct rt_list *i = rq->queue.next; i != &rq->queue; i = i->next, n++) {
		const struct fair_task *p = rt_list_item(i, struct fair_task, run_node);

		check_task(l, rq, p);
		same(c->index, "order of waiting tasks", p->vruntime >= vruntime, 1);
		vruntime = p->vruntime;
	}
	if (runs)
		check_task(l, rq, rq->curr);
	same(c->index, "nr_running", rq->nr_running, n + runs);
	same(c->index, "whether it runs a task", runs, n + runs > 0);
	same(c->index, "whether tasks are on their way to it", rq->pending, 0);
	same(c->index, "the running task", rq->curr == c->curr, 1);
}

static void check_set(const struct look *l, const struct fair_cpu *c)
{
	const struct fair *f = c->fair;
	bool in = f->ops->test(f->idle, c->number);

	same(c->index, "presence in the idle set", in, c->rq->tick_stopped);
	if (c->curr == c->idle && c->tick_off)
		same(c->index, "presence of an idle CPU in the idle set", in, 1);
}

static void check_busy_counts(const struct fair *f)
{
	for (u32 llc = 0; llc < f->nr_llcs; llc++) {
		u32 busy = 0, one = 0;

		if (!f->llc[llc])
			continue;
		for (u32 i = 0; i < f->nr_cpus; i++) {
			if (f->cpu[i].llc != llc)
				continue;
			busy += !f->cpu[i].rq->tick_stopped;
			one = i;
		}
		same(one, "busy CPUs of its LLC", f->llc[llc]->nr_busy, busy);
	}
}

typedef s64 (*order)(const struct idle_set *, u32, s64);

/* Return: the number of CPUs that @next returned. */
static u32 check_order(struct look *l, order next, const char *what)
{
	const struct fair *f = l->me->fair;
	u32 n = 0;

	memset(l->cpu, 0, f->nr_cpus);
	for (s64 i = next(f->idle, l->me->number, -1); i >= 0; n++) {
		u32 cpu = f->by_number[i];

		if (cpu >= f->nr_cpus)
			same((u32)i, what, 1, 0);
		same(cpu, what, ++l->cpu[cpu], 1);
		same(cpu, what, l->cpu[cpu], f->cpu[cpu].rq->tick_stopped);
		i = next(f->idle, l->me->number, i);
	}
	return n;
}

static void check_searches(struct look *l)
{
	struct fair_cpu *me = l->me;
	const struct fair *f = me->fair;
	u32 in = 0, idle = 0, whole = 0;
	s64 ilb;

	for (u32 i = 0; i < f->nr_cpus; i++) {
		in += f->cpu[i].rq->tick_stopped;
		idle += f->cpu[i].rq->tick_stopped && i != me->index && fair_is_idle(me, i);
		whole += f->cpu[i].rq->tick_stopped && f->cpu[i].core != me->core &&
			 fair_core_is_idle(me, i);
	}
	same(me->index, "number of CPUs in a walk",
	     check_order(l, f->ops->walk, "how often it was walked to"), in);
	same(me->index, "number of CPUs in a pick",
	     check_order(l, f->ops->pick, "how often it was picked"), in);
	if (in)
		same(me->index, "whether the idle set has a CPU", f->ops->any(f->idle, me->number),
		     1);
	ilb = fair_find_ilb(me);
	same(me->index, "whether a balancer was found", ilb >= 0, idle > 0);
	if (ilb >= 0)
		same((u32)ilb, "whether the balancer idles",
		     ilb != (s64)me->index && fair_is_idle(me, (u32)ilb), 1);
	if (f->ops->whole_core && whole)
		same((u32)ilb, "whether the balancer's core idles", fair_core_is_idle(me, (u32)ilb),
		     1);
}

static void look(void *arg)
{
	struct look *l = arg;
	struct fair *f = l->me->fair;

	if (under_way(f))
		return;
	for (u32 i = 0; i < f->nr_cpus; i++) {
		check_queue(l, &f->cpu[i]);
		check_set(l, &f->cpu[i]);
	}
	for (u32 i = 0; i < f->nr_threads; i++)
		if (!l->task[i])
			same(f->thread[i]->task->cpu, "state of an absent task",
			     f->thread[i]->task->state, FAIR_ASLEEP);
	check_busy_counts(f);
	check_searches(l);
	f->checks++;
}

void fair_check_now(struct fair_cpu *me)
{
	struct look l = { me, calloc(me->fair->nr_threads + 1, 1), calloc(me->fair->nr_cpus, 1) };

	if (!l.task || !l.cpu)
		abort();
	sim_observe(look, &l);
	free(l.task);
	free(l.cpu);
}

void fair_check(struct fair *f)
{
	f->check = true;
}

u64 fair_checks_made(const struct fair *f)
{
	return f->checks;
}
