// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * One CPU runs its thread's program until the kernel has work, does that work, and continues.
 *
 * Why no interrupt is lost: a sender writes first (wake_list, irq_work, resched) and then sends. An
 * interrupt that arrives while this CPU is in the kernel ends its next sim_compute() at once. The
 * CPU reads the words before every sim_compute(). Interrupts that arrive together merge into one. A
 * superfluous interrupt finds empty words and does nothing.
 *
 * Each call of rt_enter() adds the time since the last call to the mode that the CPU was in. A wait
 * for a cache line in the kernel is kernel time, as in a profiler. An idle CPU is halted, and its
 * cycles do not count.
 */
#include "rq.h"

void rt_enter(struct rt_cpu *me, enum rt_mode mode)
{
	u64 now = sim_now();

	if (now > me->since) { /* false right after rt_measure_from_here() */
		me->stats.time[me->mode] += now - me->since;
		me->since = now;
	}
	me->mode = mode;
}

void rt_syscall_begin(struct rt_cpu *me)
{
	rt_enter(me, RT_KERNEL);
	sim_spend(me->rt->costs.syscall);
}

void rt_syscall_end(struct rt_cpu *me)
{
	rt_enter(me, RT_USER);
}

/* ---- timers ---- */

void rt_sleep_until(struct rt_cpu *me, u64 when)
{
	struct rt_task *p = me->curr;

	rt_syscall_begin(me);
	WRITE_ONCE(p->state, RT_ASLEEP);
	timers_add(&me->timers, when, p);
	p->thread->blocked = true;
}

void rt_block(struct rt_cpu *me)
{
	rt_enter(me, RT_KERNEL);
	WRITE_ONCE(me->curr->state, RT_ASLEEP);
	me->curr->thread->blocked = true;
}

void rt_yield(struct rt_cpu *me)
{
	rt_syscall_begin(me);
	me->requeue = true;
}

/* ---- interrupts ---- */

static void tick(struct rt_cpu *me)
{
	sim_spend(me->rt->costs.tick);
	rt_lock(&me->rq->lock);
	(void)READ_ONCE(me->rq->nr_running);
	(void)READ_ONCE(me->curr->level);
	rt_unlock(&me->rq->lock);
	while (me->next_tick <= sim_now())
		me->next_tick += me->rt->costs.tick_period;
	me->stats.ticks++;
}

static void take_interrupts(struct rt_cpu *me)
{
	while (timers_next(&me->timers) <= sim_now())
		rt_wake(me, timers_take(&me->timers));
	if (me->curr != me->idle && me->next_tick <= sim_now())
		tick(me);
	if (READ_ONCE(me->rq->wake_list))
		rt_take_woken(me);
	if (READ_ONCE(me->rq->irq_work))
		rt_push_work(me);
}

/* ---- computing ---- */

static u64 compute(struct rt_cpu *me, u64 ps)
{
	struct rt *rt = me->rt;
	u64 left;

	me->in_kernel = false;
	if (!--rt->in_kernel && rt->check && !rt->stop)
		rt_check_now(rt);
	left = sim_compute(ps);
	rt->in_kernel++;
	me->in_kernel = true;
	return left;
}

static void idle(struct rt_cpu *me)
{
	u64 when = timers_next(&me->timers), now = sim_now();

	rt_enter(me, RT_HALTED);
	compute(me, when == UINT64_MAX ? UINT64_MAX : when > now ? when - now : 0);
	sim_spend(me->rt->costs.idle_exit);
	rt_enter(me, RT_KERNEL);
	sim_spend(me->rt->costs.irq);
	while (me->next_tick <= sim_now()) /* the tick was off */
		me->next_tick += me->rt->costs.tick_period;
}

static void user(struct rt_cpu *me)
{
	struct rt_thread *t = me->curr->thread;
	u64 when, now, slice, left;

	if (!t)
		abort(); /* the idle task was to run a program */
	rt_enter(me, RT_USER);
	if (!t->left)
		t->run(me, t);
	if (!t->left || t->blocked) {
		rt_enter(me, RT_KERNEL);
		return;
	}
	rt_enter(me, RT_USER); /* the program may have requested a reschedule */
	when = timers_next(&me->timers) < me->next_tick ? timers_next(&me->timers) : me->next_tick;
	now = sim_now();
	slice = when > now ? when - now : 0;
	if (slice > t->left)
		slice = t->left;
	left = compute(me, slice);
	t->left -= slice - left;
	rt_enter(me, RT_KERNEL);
	if (t->left)
		sim_spend(me->rt->costs.irq);
}

/* ---- life ---- */

static void start_threads(struct rt_cpu *me)
{
	struct rt *rt = me->rt;

	rt_lock(&me->rq->lock);
	for (u32 i = 0; i < rt->nr_threads; i++)
		if (rt->thread[i]->first_cpu == me->number)
			rt_activate(me, me->rq, rt->thread[i]->task);
	rt_unlock(&me->rq->lock);
}

void rt_body(u32 index, void *arg)
{
	struct rt *rt = arg;
	struct rt_cpu *me = &rt->cpus[index];

	me->salt = sim_random();
	me->next_tick = sim_now() + me->salt % rt->costs.tick_period;
	me->in_kernel = true;
	rt->in_kernel++;
	rt_enter(me, RT_KERNEL);
	sim_spend(1000000); /* all CPUs must draw their salts before any CPU reads one */
	start_threads(me);
	while (!rt->stop) {
		struct rt_thread *t = me->curr->thread;

		take_interrupts(me);
		if (t && t->blocked) {
			t->blocked = false;
			rt_schedule(me);
		} else if (READ_ONCE(me->rq->resched) || me->requeue) {
			rt_schedule(me);
		} else if (me->curr == me->idle) {
			idle(me);
		} else {
			user(me);
		}
	}
	me->in_kernel = false;
	rt->in_kernel--;
}

u64 rt_run(struct rt *rt)
{
	for (u32 i = 0; i < rt->nr_cpus; i++)
		sim_spawn(i, rt_body, rt, 0);
	return sim_run();
}

void rt_stop(struct rt_cpu *me)
{
	struct rt *rt = me->rt;

	if (rt->stop)
		return;
	rt->stop = true;
	for (u32 i = 0; i < rt->nr_cpus; i++) {
		struct rt_cpu *c = &rt->cpus[i];

		if (sim_now() > c->since)
			c->stats.time[c->mode] += sim_now() - c->since;
		c->counted = c->stats;
		sim_interrupt(c->index, 0);
	}
}

void rt_measure_from_here(struct rt_cpu *me)
{
	struct rt *rt = me->rt;

	for (u32 i = 0; i < rt->nr_cpus; i++) {
		rt->cpus[i].stats = (struct rt_stats){ 0 };
		rt->cpus[i].since = sim_now();
	}
	sim_measure_from_here();
}

struct rt_stats rt_stats(const struct rt *rt)
{
	struct rt_stats sum = { 0 };
	u64 *to = (u64 *)&sum;

	for (u32 i = 0; i < rt->nr_cpus; i++) {
		const u64 *from = (const u64 *)&rt->cpus[i].counted;

		for (size_t k = 0; k < offsetof(struct rt_stats, longest_find) / sizeof(*to); k++)
			to[k] += from[k];
		rt_longest(&sum.longest_find, rt->cpus[i].counted.longest_find);
		rt_longest(&sum.longest_pull, rt->cpus[i].counted.longest_pull);
	}
	return sum;
}
