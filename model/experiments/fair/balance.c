// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Move tasks to a CPU that should have more of them. Every CPU balances from time to time, and when
 * it runs out of tasks. A CPU balances at its own tick; the idle load balancer does so for CPUs
 * without a tick.
 *
 * Why a task is never on two queues, nor lost: a balance takes the task off one queue under that
 * queue's lock. Then the balance puts the task on the other queue under the other queue's lock. In
 * between the task is on no queue. It is runnable then, so no waker touches it.
 *
 * A balance does not take the running task of a queue. If only moving a running task would help, in
 * several rounds in a row, the balancer requests the task from its CPU (active balancing).
 */
#include "fair_rq.h"

#define MAX_MOVED   32 /* tasks at a time, as Linux */
#define BUSY_FACTOR 16 /* factor between intervals of busy and of idle CPUs */
#define MS	    1000000000ull

static bool cache_hot(const struct fair_cpu *me, const struct fair_domain *d,
		      const struct fair_sd *sd, const struct fair_task *p)
{
	u64 now = sim_now();

	if (d->siblings || READ_ONCE(sd->failed) > d->nice_tries)
		return false;
	return now < p->exec_start + me->fair->costs.migration;
}

/* Take up to @most waiting tasks off a queue, the longest waiting first. */
static u32 take_tasks(struct fair_cpu *me, u32 cpu, const struct fair_domain *d,
		      const struct fair_sd *sd, u32 most, struct fair_task **taken)
{
	struct fair_rq *rq = fair_rq_of(me, cpu);
	struct rt_list *l;
	u32 n = 0;

	rt_lock(&rq->lock);
	l = rq->queue.next;
	/* Not the last task: its CPU would only take it back. */
	while (n < most && l != &rq->queue && rq->nr_running > 1) {
		struct fair_task *p = rt_list_item(l, struct fair_task, run_node);

		l = l->next;
		/*
		 * The task still runs here: it went to sleep, and a waker woke it before the CPU
		 * had switched away.
		 */
		if (p == rq->curr || cache_hot(me, d, sd, p))
			continue;
		fair_dequeue(me, rq, p);
		taken[n++] = p;
	}
	rt_unlock(&rq->lock);
	return n;
}

static void put_tasks(struct fair_cpu *me, u32 cpu, struct fair_task **taken, u32 n)
{
	struct fair_rq *rq = fair_rq_of(me, cpu);

	rt_lock(&rq->lock);
	for (u32 i = 0; i < n; i++) {
		WRITE_ONCE(taken[i]->cpu, cpu);
		fair_activate(me, rq, taken[i]);
	}
	rt_unlock(&rq->lock);
}

static void ask_for_the_running(struct fair_cpu *me, u32 cpu, u32 dst)
{
	struct fair_cpu *from = &me->fair->cpu[cpu];

	rt_lock(&from->rq->lock);
	if (from->evict_to < 0 && READ_ONCE(from->rq->curr) != from->idle) {
		from->evict_to = dst;
		fair_resched(me, from->rq);
	}
	rt_unlock(&from->rq->lock);
}

/*
 * Should @dst balance this domain? True for the first idle CPU of its group, preferably of an idle
 * core.
 */
static bool should_balance(struct fair_cpu *me, u32 dst, u32 level)
{
	const struct fair_cpu *to = &me->fair->cpu[dst];
	const struct fair_domain *d = to->domain[level];
	const struct fair_group *g = &d->group[to->group[level]];
	s64 second = -1;

	for (u32 i = 0; i < g->nr; i++) {
		u32 cpu = g->cpu[i], k = 0;

		if (!fair_is_idle(me, cpu))
			continue;
		if (d->siblings)
			return cpu == dst;
		while (k < g->nr && (me->fair->cpu[g->cpu[k]].core != me->fair->cpu[cpu].core ||
				     fair_is_idle(me, g->cpu[k])))
			k++;
		if (k == g->nr)
			return cpu == dst;
		if (second < 0)
			second = cpu;
	}
	return second >= 0 ? second == dst : g->cpu[0] == dst;
}

static void found_balanced(struct fair_sd *sd, const struct fair_domain *d, enum fair_why why)
{
	if (READ_ONCE(sd->failed))
		WRITE_ONCE(sd->failed, 0);
	if (why != FAIR_NEWIDLE && READ_ONCE(sd->interval) < 2 * d->nr)
		WRITE_ONCE(sd->interval, 2 * d->nr);
}

/* Balance one domain for @dst. Return: the number of tasks moved. */
static u32 balance(struct fair_cpu *me, u32 dst, u32 level, enum fair_why why)
{
	const struct fair_domain *d = me->fair->cpu[dst].domain[level];
	struct fair_sd *sd = &me->fair->cpu[dst].sd[level];
	struct fair_imbalance m = fair_busiest(me, dst, level, why);
	struct fair_task *taken[MAX_MOVED];
	u32 n = 0, most = m.tasks < MAX_MOVED ? m.tasks : MAX_MOVED;

	if (m.cpu < 0 || m.cpu == (s64)dst) {
		found_balanced(sd, d, why);
		return 0;
	}
	if (why == FAIR_NEWIDLE)
		most = 1; /* the CPU waits for a task */
	if (READ_ONCE(fair_rq_of(me, (u32)m.cpu)->nr_running) > 1)
		n = take_tasks(me, (u32)m.cpu, d, sd, most, taken);
	if (n) {
		put_tasks(me, dst, taken, n);
		if (why == FAIR_IDLE)
			me->stats.idle_pulls += n;
		else if (why == FAIR_NEWIDLE)
			me->stats.newidle_pulls += n;
		WRITE_ONCE(sd->failed, 0);
		WRITE_ONCE(sd->interval, d->nr);
		return n;
	}
	if (why == FAIR_NEWIDLE)
		return 0;
	WRITE_ONCE(sd->failed, READ_ONCE(sd->failed) + 1);
	if (why == FAIR_IDLE && READ_ONCE(sd->failed) > d->nice_tries + 2) {
		ask_for_the_running(me, (u32)m.cpu, dst);
		WRITE_ONCE(sd->failed, 0);
		WRITE_ONCE(sd->interval, d->nr);
	}
	return 0;
}

/*
 * Return the jiffies between two balances of a domain. A busy CPU's intervals are one shorter, so
 * that those of its domains are not multiples of each other.
 */
static u64 interval_of(const struct fair_cpu *me, const struct fair_sd *sd, bool idle)
{
	u64 ms = READ_ONCE(sd->interval), most = (u64)me->fair->nr_cpus * 100, jiffies;

	if (!idle)
		ms *= BUSY_FACTOR;
	ms = ms < most ? ms : most;
	jiffies = ms * MS / me->fair->costs.tick_period;
	jiffies -= !idle && jiffies > 1;
	return jiffies ? jiffies : 1;
}

void fair_balance_domains(struct fair_cpu *me, u32 dst, bool idle)
{
	struct fair_cpu *to = &me->fair->cpu[dst];
	u64 now = fair_jiffies(me), next = now + 60000 * MS / me->fair->costs.tick_period;
	bool go_on = true;

	for (u32 level = 0; level < to->nr_domains && go_on; level++) {
		struct fair_sd *sd = &to->sd[level];
		u64 due;

		if (now >= READ_ONCE(sd->last_balance) + interval_of(me, sd, idle)) {
			/* If false, another CPU of the group balances for the whole group. */
			go_on = should_balance(me, dst, level);
			if (go_on && balance(me, dst, level, idle ? FAIR_IDLE : FAIR_BUSY))
				idle = fair_is_idle(me, dst);
			WRITE_ONCE(sd->last_balance, now);
		}
		due = READ_ONCE(sd->last_balance) + interval_of(me, sd, idle);
		next = due < next ? due : next;
	}
	WRITE_ONCE(to->rq->next_balance, next);
}

/* The domain is due earlier for an idle CPU than for a busy one. */
static void due_when_idle(struct fair_cpu *me, const struct fair_sd *sd)
{
	u64 due = READ_ONCE(sd->last_balance) + interval_of(me, sd, true);

	if (due < READ_ONCE(me->rq->next_balance))
		WRITE_ONCE(me->rq->next_balance, due);
}

bool fair_newidle(struct fair_cpu *me)
{
	struct fair_rq *rq = me->rq;
	u64 spent = 0, begin = sim_now();
	bool came = false, search = READ_ONCE(*me->fair->overloaded);

	for (u32 level = 0; level < me->nr_domains && !came; level++) {
		struct fair_sd *sd = &me->sd[level];
		u64 took;

		due_when_idle(me, sd);
		/* No queue has two tasks, or the CPU will not idle for long enough. */
		if (!search || rq->avg_idle < spent + sd->max_cost)
			break;
		came = balance(me, me->index, level, FAIR_NEWIDLE);
		took = sim_now() - begin - spent;
		spent += took;
		if (took > sd->max_cost)
			sd->max_cost = took;
		came |= READ_ONCE(rq->nr_running) || READ_ONCE(rq->pending);
	}
	if (spent > rq->max_idle_cost)
		rq->max_idle_cost = spent;
	return came;
}
