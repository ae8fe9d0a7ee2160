// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * One CPU runs its thread's program until the kernel has work, does that work, and continues.
 *
 * Why no interrupt is lost: as in rt/cpu.c, with the words wake_list, nohz_flags and resched. Each
 * call of fair_enter() adds the time since the last call to the mode that the CPU was in.
 *
 * Ticks come at multiples of the period on all CPUs at once, as Linux's do (without skew_tick=1).
 */
#include "fair_rq.h"

void fair_enter(struct fair_cpu *me, enum fair_mode mode)
{
	u64 now = sim_now();

	if (now > me->since) { /* false right after fair_count_from_here() */
		me->stats.time[me->mode] += now - me->since;
		me->since = now;
	}
	me->mode = mode;
}

void fair_syscall_begin(struct fair_cpu *me)
{
	fair_enter(me, FAIR_KERNEL);
	sim_spend(me->fair->costs.syscall / 2);
}

void fair_syscall_end(struct fair_cpu *me)
{
	sim_spend(me->fair->costs.syscall / 2);
	fair_enter(me, FAIR_USER);
}

void fair_wait(struct fair_cpu *me)
{
	me->curr->thread->blocked = true;
}

/* ---- timers ---- */

void fair_sleep_until(struct fair_cpu *me, u64 when)
{
	fair_syscall_begin(me);
	WRITE_ONCE(me->curr->state, FAIR_ASLEEP);
	timers_add(&me->timers, when, me->curr);
	fair_wait(me);
}

void fair_exit(struct fair_cpu *me)
{
	fair_syscall_begin(me);
	WRITE_ONCE(me->curr->state, FAIR_ASLEEP);
	me->curr->thread->exited = true;
	fair_wait(me);
}

void fair_fork(struct fair_cpu *me, struct fair_thread *t)
{
	fair_syscall_begin(me);
	sim_spend(me->fair->costs.fork);
	t->blocked = false;
	fair_move_to(me, t->task, fair_select_new(me));
	fair_syscall_end(me);
}

/* ---- interrupts ---- */

static void tick(struct fair_cpu *me)
{
	struct fair_rq *rq = me->rq;
	bool idle = me->curr == me->idle;

	sim_spend(me->fair->costs.tick);
	while (me->next_tick <= sim_now())
		me->next_tick += me->fair->costs.tick_period;
	if (!idle) {
		rt_lock(&rq->lock);
		fair_count_run(rq, me->curr);
		if (rq->nr_running > 1 && me->curr->vruntime >= me->curr->slice_end)
			fair_resched(me, rq);
		rt_unlock(&rq->lock);
		fair_nohz_tick(me);
	}
	if (fair_jiffies(me) >= READ_ONCE(rq->next_balance))
		fair_balance_domains(me, me->index, idle);
}

static void take_interrupts(struct fair_cpu *me)
{
	while (timers_next(&me->timers) <= sim_now())
		fair_wake(me, timers_take(&me->timers), false);
	if (!me->tick_off && me->next_tick <= sim_now())
		tick(me);
	if (READ_ONCE(me->rq->wake_list))
		fair_take_woken(me);
	if (READ_ONCE(me->rq->nohz_flags) & ~(u32)NOHZ_NEWILB)
		fair_nohz_kicked(me);
}

/* ---- computing ---- */

static u64 compute(struct fair_cpu *me, u64 ps)
{
	struct fair *f = me->fair;
	u64 left;

	me->in_kernel = false;
	if (!--f->in_kernel && f->check && !f->stop)
		fair_check_now(me);
	left = sim_compute(ps);
	f->in_kernel++;
	me->in_kernel = true;
	return left;
}

static void idle(struct fair_cpu *me)
{
	u64 when, now;
	bool by_tick;

	fair_nohz_before_idle(me);
	if (!me->tick_off && !fair_keep_tick(me)) {
		me->tick_off = true;
		fair_nohz_enter(me);
	}
	if (READ_ONCE(me->rq->resched) || READ_ONCE(me->rq->wake_list))
		return; /* the interrupt came before the CPU halted */
	when = timers_next(&me->timers);
	if (!me->tick_off && me->next_tick < when)
		when = me->next_tick;
	now = sim_now();
	me->idle_begin = now;
	fair_enter(me, FAIR_HALTED);
	compute(me, when == UINT64_MAX ? UINT64_MAX : when > now ? when - now : 0);
	by_tick = !me->tick_off && me->next_tick <= sim_now();
	fair_idle_ended(me, by_tick);
	sim_spend(me->fair->costs.idle_exit);
	fair_enter(me, FAIR_KERNEL);
	sim_spend(me->fair->costs.irq);
}

/* Restart the tick, at the times at which it would have come without the stop. */
static void restart_tick(struct fair_cpu *me)
{
	u64 period = me->fair->costs.tick_period;

	me->tick_off = false;
	me->next_tick = (sim_now() / period + 1) * period;
}

static void user(struct fair_cpu *me)
{
	struct fair_thread *t = me->curr->thread;
	u64 when, now, slice, left;

	if (me->tick_off)
		restart_tick(me);
	fair_enter(me, FAIR_USER);
	if (!t->left && !t->exited)
		t->run(me, t);
	if (!t->left || t->blocked) {
		fair_enter(me, FAIR_KERNEL);
		return;
	}
	fair_enter(me, FAIR_USER);
	when = timers_next(&me->timers) < me->next_tick ? timers_next(&me->timers) : me->next_tick;
	now = sim_now();
	slice = when > now ? when - now : 0;
	if (slice > t->left)
		slice = t->left;
	left = compute(me, slice);
	t->left -= slice - left;
	fair_enter(me, FAIR_KERNEL);
	if (t->left)
		sim_spend(me->fair->costs.irq);
}

/* ---- life ---- */

static void body(u32 index, void *arg)
{
	struct fair *f = arg;
	struct fair_cpu *me = &f->cpu[index];

	me->next_tick = f->costs.tick_period;
	me->in_kernel = true;
	f->in_kernel++;
	fair_enter(me, FAIR_KERNEL);
	if (!index) {
		f->first->blocked = false;
		fair_move_to(me, f->first->task, index);
	}
	while (!f->stop) {
		struct fair_thread *t = me->curr->thread;

		take_interrupts(me);
		if (t && t->blocked) {
			t->blocked = false;
			fair_schedule(me);
		} else if (READ_ONCE(me->rq->resched)) {
			fair_schedule(me);
		} else if (me->curr == me->idle) {
			idle(me);
		} else {
			user(me);
		}
	}
	me->in_kernel = false;
	f->in_kernel--;
}

u64 fair_run(struct fair *f, struct fair_thread *first)
{
	f->first = first;
	for (u32 i = 0; i < f->nr_cpus; i++)
		sim_spawn(i, body, f, 0);
	return sim_run();
}

void fair_stop(struct fair_cpu *me)
{
	struct fair *f = me->fair;

	f->stop = true;
	for (u32 i = 0; i < f->nr_cpus; i++)
		sim_interrupt(i, 0);
}

/* ---- counts ---- */

void fair_count_from_here(struct fair_cpu *me)
{
	struct fair *f = me->fair;

	for (u32 i = 0; i < f->nr_cpus; i++) {
		f->cpu[i].stats = (struct fair_stats){ 0 };
		f->cpu[i].picked = 0;
		f->cpu[i].since = sim_now();
	}
}

struct fair_stats fair_stats(struct fair_cpu *me)
{
	const struct fair *f = me->fair;
	struct fair_stats sum = { 0 };
	u64 *to = (u64 *)&sum;

	for (u32 i = 0; i < f->nr_cpus; i++) {
		const struct fair_cpu *c = &f->cpu[i];
		const u64 *from = (const u64 *)&c->stats;

		for (size_t k = 0; k < sizeof(sum) / sizeof(*to); k++)
			to[k] += from[k];
		if (sim_now() > c->since)
			sum.time[c->mode] += sim_now() - c->since;
	}
	return sum;
}

u64 fair_most_picked(const struct fair *f)
{
	u64 most = 0;

	for (u32 i = 0; i < f->nr_cpus; i++)
		most = f->cpu[i].picked > most ? f->cpu[i].picked : most;
	return most;
}
