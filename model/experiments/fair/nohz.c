// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * CPUs without a tick, and the CPU that balances for all of them: Linux's use of `nohz`.
 *
 * - A CPU that stops its tick enters the set; its first busy tick takes it out again.
 * - A busy tick that finds work for others requests a balance from an idle CPU, at most once per
 *   jiffy.
 * - The idle CPU walks the set and balances for each CPU that is due, until it has work itself.
 *
 * Why no idle CPU is missed while others have too many tasks: a CPU enters the set before it halts,
 * and leaves when it is busy. Every busy tick looks again. model/layouts/idle/idle_set.h says why
 * the balancer's flags are not lost. If work ends a walk early, the balancer sets that walk's flags
 * again.
 */
#include "fair_rq.h"

#include <stdlib.h>

#define DECAYED (345 * 1000000000ull) /* a sleeper's load has decayed to 0 after 345 ms */
#define STATS	(32 * 1000000000ull)  /* time between two looks at decaying load */
#define KICKED	(NOHZ_BALANCE | NOHZ_STATS | NOHZ_NEXT)

static struct nohz *nohz_of(const struct fair_cpu *me)
{
	return me->fair->idle->nohz;
}

static u64 in_jiffies(const struct fair_cpu *me, u64 ps)
{
	return ps / me->fair->costs.tick_period;
}

/* ---- enter and exit ---- */

void fair_nohz_enter(struct fair_cpu *me)
{
	struct fair_rq *rq = me->rq;
	u64 begin = sim_now();

	WRITE_ONCE(rq->has_blocked, 1);
	WRITE_ONCE(rq->blocked_until, begin + DECAYED);
	if (rq->tick_stopped) {
		me->fair->ops->stay(me->fair->idle);
		return;
	}
	rq->tick_stopped = 1;
	me->fair->ops->enter(me->fair->idle, me->number);
	__atomic_fetch_sub(&me->shared->nr_busy, 1, __ATOMIC_RELAXED);
	me->stats.enters++;
	me->stats.enter_time += sim_now() - begin;
}

static void leave(struct fair_cpu *me)
{
	u64 begin = sim_now();

	if (!me->rq->tick_stopped)
		return;
	me->rq->tick_stopped = 0;
	me->fair->ops->exit(me->fair->idle, me->number);
	__atomic_fetch_add(&me->shared->nr_busy, 1, __ATOMIC_RELAXED);
	me->stats.exits++;
	me->stats.exit_time += sim_now() - begin;
}

/* ---- requests for a balancer ---- */

/*
 * With whole_core a CPU whose core idles as a whole, or else the first idle CPU. The search leaves
 * out the other threads of a core that cannot be better than that.
 */
s64 fair_find_ilb(struct fair_cpu *me)
{
	const struct fair *f = me->fair;
	bool whole = f->ops->whole_core && me->domain[0] && me->domain[0]->siblings;
	u8 *skip = calloc(f->model->nr_cores, sizeof(*skip)); /* of all of the machine */
	s64 found = -1;

	if (!skip)
		abort();
	for (s64 n = f->ops->pick(f->idle, me->number, -1); n >= 0;
	     n = f->ops->pick(f->idle, me->number, n)) {
		u32 cpu = f->by_number[n], core = f->cpu[cpu].core;
		bool idle = cpu != me->index && !skip[core] && fair_is_idle(me, cpu);
		bool best = idle && (!whole || fair_core_is_idle(me, cpu));

		if (best || (idle && found < 0))
			found = cpu;
		if (best)
			break;
		skip[core] = found >= 0;
	}
	free(skip);
	return found;
}

static void ask(struct fair_cpu *me, u32 flags)
{
	u32 *flags_of;
	s64 cpu = fair_find_ilb(me);

	if (cpu < 0)
		return;
	flags_of = &fair_rq_of(me, (u32)cpu)->nohz_flags;
	if ((READ_ONCE(*flags_of) & flags) == flags)
		return;
	if (__atomic_fetch_or(flags_of, flags, __ATOMIC_SEQ_CST) & KICKED)
		return; /* another CPU has requested a balance */
	me->stats.kicks++;
	me->stats.near += fair_share_cache(me, me->index, (u32)cpu);
	me->fair->cpu[cpu].picked++;
	fair_kick(me, (u32)cpu);
}

/* Could an idle CPU take work from here, or from another CPU of this cache? */
static bool has_work_for_others(const struct fair_cpu *me)
{
	return READ_ONCE(me->rq->nr_running) >= 2 || READ_ONCE(me->shared->nr_busy) > 1;
}

/* May this CPU request a balance? One request per jiffy is enough. */
static bool may_balance(struct fair_cpu *me, u64 now)
{
	if (!has_work_for_others(me))
		return false;
	WRITE_ONCE(nohz_of(me)->next_balance, now + 1);
	return true;
}

static void ask_if_due(struct fair_cpu *me)
{
	const struct fair *f = me->fair;
	struct nohz *nohz = nohz_of(me);
	u64 now = fair_jiffies(me);
	u32 flags = 0;

	if (!f->ops->time_first && !f->ops->any(f->idle, me->number))
		return;
	if (READ_ONCE(nohz->has_blocked) && now > READ_ONCE(nohz->next_blocked))
		flags = NOHZ_STATS;
	if (now >= READ_ONCE(nohz->next_balance)) {
		if (f->ops->time_first && !f->ops->any(f->idle, me->number))
			return;
		if (may_balance(me, now))
			flags = NOHZ_STATS | NOHZ_BALANCE;
	}
	if (READ_ONCE(nohz->needs_update))
		flags |= NOHZ_NEXT;
	if (flags)
		ask(me, flags);
}

void fair_nohz_tick(struct fair_cpu *me)
{
	u64 begin;

	leave(me);
	begin = sim_now();
	ask_if_due(me);
	me->stats.ticks++;
	me->stats.kick_time += sim_now() - begin;
}

/* ---- balancing ---- */

static bool still_decays(struct fair_cpu *me, u32 cpu)
{
	const struct fair *f = me->fair;
	struct fair_rq *rq = fair_rq_of(me, cpu);
	u64 now = fair_jiffies(me);
	bool blocked;

	if (!READ_ONCE(rq->has_blocked) || !f->ops->test(f->idle, f->cpu[cpu].number))
		return false;
	if (now <= READ_ONCE(rq->blocked_at))
		return true;
	rt_lock(&rq->lock);
	sim_spend(f->costs.look);
	WRITE_ONCE(rq->blocked_at, now);
	if (sim_now() >= READ_ONCE(rq->blocked_until))
		WRITE_ONCE(rq->has_blocked, 0);
	blocked = READ_ONCE(rq->has_blocked);
	rt_unlock(&rq->lock);
	return blocked;
}

static bool got_work(struct fair_cpu *me)
{
	if (READ_ONCE(me->rq->wake_list)) /* an interrupt came during the walk */
		fair_take_woken(me);
	return !fair_is_idle(me, me->index) && READ_ONCE(me->rq->resched);
}

struct walk {
	u32 flags;
	u64 next;
	bool update, blocked;
};

/* Visit one CPU of a walk. Return: false if the walk ends, because this CPU has work. */
static bool visit(struct fair_cpu *me, u32 cpu, struct walk *w)
{
	struct fair_rq *rq = fair_rq_of(me, cpu);

	me->stats.walked++;
	if (!fair_is_idle(me, cpu))
		return true;
	if (got_work(me))
		return false;
	if (w->flags & NOHZ_STATS)
		w->blocked |= still_decays(me, cpu);
	if (fair_jiffies(me) >= READ_ONCE(rq->next_balance)) {
		rt_lock(&rq->lock); /* Linux updates the queue's clock here */
		sim_spend(me->fair->costs.look);
		rt_unlock(&rq->lock);
		if (w->flags & NOHZ_BALANCE)
			fair_balance_domains(me, cpu, true);
	}
	if (READ_ONCE(rq->next_balance) < w->next) {
		w->next = READ_ONCE(rq->next_balance);
		w->update = true;
	}
	return true;
}

static void walk(struct fair_cpu *me, u32 flags)
{
	const struct fair *f = me->fair;
	struct nohz *nohz = nohz_of(me);
	u64 now = fair_jiffies(me);
	struct walk w = { .flags = flags, .next = now + in_jiffies(me, 60000 * 1000000000ull) };
	bool whole = true;

	if (flags & NOHZ_STATS)
		WRITE_ONCE(nohz->has_blocked, 0);
	if (flags & NOHZ_NEXT)
		WRITE_ONCE(nohz->needs_update, 0);
	smp_mb(); /* clears the flags before it reads the set; pairs with enter() and stay() */
	for (s64 n = f->ops->walk(f->idle, me->number, -1); n >= 0 && whole;
	     n = whole ? f->ops->walk(f->idle, me->number, n) : n)
		whole = visit(me, f->by_number[n], &w);
	if (whole) {
		if (w.update)
			WRITE_ONCE(nohz->next_balance, w.next);
		if (flags & NOHZ_STATS)
			WRITE_ONCE(nohz->next_blocked, now + in_jiffies(me, STATS));
	} else {
		me->stats.cut++;
		w.blocked |= (flags & NOHZ_STATS) != 0;
		if (flags & NOHZ_NEXT)
			WRITE_ONCE(nohz->needs_update, 1);
	}
	if (w.blocked)
		WRITE_ONCE(nohz->has_blocked, 1);
}

void fair_nohz_kicked(struct fair_cpu *me)
{
	u32 flags =
		__atomic_fetch_and(&me->rq->nohz_flags, ~(u32)KICKED, __ATOMIC_SEQ_CST) & KICKED;

	if (!flags || !fair_is_idle(me, me->index))
		return;
	if (flags & NOHZ_BALANCE)
		me->stats.balances++;
	else
		me->stats.looks++;
	walk(me, flags);
}

/* A CPU that will idle for a while updates the decaying load itself, before it halts. */
void fair_nohz_newidle(struct fair_cpu *me)
{
	struct nohz *nohz = nohz_of(me);

	if (me->rq->avg_idle < me->fair->costs.migration || !READ_ONCE(nohz->has_blocked) ||
	    fair_jiffies(me) < READ_ONCE(nohz->next_blocked))
		return;
	__atomic_fetch_or(&me->rq->nohz_flags, NOHZ_NEWILB, __ATOMIC_RELAXED);
}

void fair_nohz_before_idle(struct fair_cpu *me)
{
	u32 flags;

	if (!(READ_ONCE(me->rq->nohz_flags) & NOHZ_NEWILB))
		return;
	flags = __atomic_fetch_and(&me->rq->nohz_flags, ~(u32)NOHZ_NEWILB, __ATOMIC_SEQ_CST);
	/* If another CPU has requested a balance, that balance includes this update. */
	if (flags == NOHZ_NEWILB && !READ_ONCE(me->rq->resched)) {
		me->stats.looks++;
		walk(me, NOHZ_STATS);
	}
}
