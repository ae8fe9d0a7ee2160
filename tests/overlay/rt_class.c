// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tasks are numbered by priority: task 0 is the highest. Every CPU has the idle task besides.
 *
 * Not in this copy of Linux's class: throttling, groups, proxy execution, time, migrate_disable()
 * beyond refusing, and pulls without interrupts (RT_PUSH_IPI off).
 */
#include "rt_class.h"

static int push_rt_task(struct rq *rq, bool pull);

#include "rt_walk.c"

unsigned long jiffies;
struct task_struct *shim_tasks[SHIM_TASKS];
struct irq_work *shim_works[64];
struct rq *shim_rq[SHIM_CPUS];
const struct shard_plan *schedshard_plan;
const struct cpumask shim_active = { { (1ul << SHIM_CPUS) - 1 } };
enum rt_wrong rt_wrong;
struct root_domain *rt_rd;
struct task_struct *rt_idle;

/* -------- the list of pushable tasks -------- */

static void enqueue_pushable_task(struct rq *rq, struct task_struct *p)
{
	u64 *tasks = &rq->rt.pushable_tasks.tasks;

	WRITE_ONCE(*tasks, READ_ONCE(*tasks) | 1ull << p->number);
	rt_wide_enter(rq, p);
	if (rt_wrong == RT_PUSH_FIRST && p->prio >= rq->donor->prio)
		push_rt_task(rq, false);
	if (has_pushable_tasks(rq))
		rt_overload_update(rq, rq->donor);
}

static void dequeue_pushable_task(struct rq *rq, struct task_struct *p)
{
	u64 *tasks = &rq->rt.pushable_tasks.tasks;

	WRITE_ONCE(*tasks, READ_ONCE(*tasks) & ~(1ull << p->number));
	rt_wide_leave(rq, p);
	rt_overload_ease(rq, rq->donor);
}

static struct task_struct *pick_next_pushable_task(const struct rq *rq)
{
	u64 tasks = READ_ONCE(rq->rt.pushable_tasks.tasks);

	return tasks ? shim_tasks[__builtin_ctzll(tasks)] : NULL;
}

/* -------- what is runnable -------- */

static struct task_struct *highest(const struct rq *rq)
{
	return rq->rt.queued ? shim_tasks[__builtin_ctzll(rq->rt.queued)] : rt_idle;
}

/* Linux stores the level only when the highest priority has changed. */
static void level_follows(struct rq *rq)
{
	int prio = rq->rt.queued ? highest(rq)->prio : MAX_RT_PRIO - 1;

	if (READ_ONCE(rq->rt.highest_prio.curr) == prio)
		return;
	WRITE_ONCE(rq->rt.highest_prio.curr, prio);
	rq_level_update(rq);
}

static void enqueue_task(struct rq *rq, struct task_struct *p)
{
	p->cpu = rq->cpu;
	rq->rt.queued |= 1ull << p->number;
	level_follows(rq);
	if (p != rq->donor && p->nr_cpus_allowed > 1)
		enqueue_pushable_task(rq, p);
}

static void dequeue_task(struct rq *rq, struct task_struct *p)
{
	rq->rt.queued &= ~(1ull << p->number);
	level_follows(rq);
	dequeue_pushable_task(rq, p);
}

static void resched_curr(struct rq *rq)
{
	rq->resched = 1;
}

/* -------- push -------- */

/* Linux unlocks the own queue when it cannot get the other one at once. */
static bool double_lock_balance(struct rq *rq, struct rq *other)
{
	if (host_trylock(&other->lock))
		return false;
	raw_spin_rq_unlock(rq);
	if (rq->cpu < other->cpu) {
		raw_spin_rq_lock(rq);
		raw_spin_rq_lock(other);
	} else {
		raw_spin_rq_lock(other);
		raw_spin_rq_lock(rq);
	}
	return true;
}

static struct rq *find_lock_lowest_rq(struct task_struct *p, struct rq *rq)
{
	for (int tries = 0; tries < 3; tries++) {
		struct cpumask mask = { { 0 } };
		struct rq *lowest;

		if (p->nr_cpus_allowed == 1 || !rt_find_lowest(p, &mask, NULL))
			return NULL;
		lowest = cpu_rq(port_ctz64(mask.bits[0]));
		if (lowest == rq)
			return NULL;
		if (READ_ONCE(lowest->rt.highest_prio.curr) <= p->prio)
			return NULL;
		if (double_lock_balance(rq, lowest) &&
		    (!(p->cpus_mask.bits[0] >> lowest->cpu & 1) ||
		     p != pick_next_pushable_task(rq))) {
			raw_spin_rq_unlock(lowest);
			return NULL;
		}
		if (READ_ONCE(lowest->rt.highest_prio.curr) > p->prio)
			return lowest;
		raw_spin_rq_unlock(lowest);
	}
	return NULL;
}

static int push_rt_task(struct rq *rq, bool pull)
{
	struct task_struct *next = pick_next_pushable_task(rq), *now;
	struct rq *lowest;

	while (next) {
		if (next->prio < rq->donor->prio) {
			resched_curr(rq);
			return 0;
		}
		if (is_migration_disabled(next))
			return 0;
		lowest = find_lock_lowest_rq(next, rq);
		if (lowest) {
			dequeue_task(rq, next);
			enqueue_task(lowest, next);
			resched_curr(lowest);
			raw_spin_rq_unlock(lowest);
			return 1;
		}
		now = pick_next_pushable_task(rq);
		if (now == next)
			return 0;
		next = now;
	}
	return 0;
}

static void push_rt_tasks(struct rq *rq)
{
	while (push_rt_task(rq, false))
		;
}

/* -------- pull -------- */

static void pull_rt_task(struct rq *rq)
{
	u32 who = overload_query_now(rq->rd->rto, rq->cpu);

	if (!(who & ~OVERLOAD_SELF))
		return;
	rt_walks_request(rq, who);
}

/* -------- choosing -------- */

static void set_next_task(struct rq *rq, struct task_struct *p)
{
	if (p == rt_idle)
		return;
	dequeue_pushable_task(rq, p);
	rt_overload_update(rq, p);
}

/* The end of schedule(): @prev is on the queue or has just left it. */
static void choose(struct rq *rq)
{
	struct task_struct *prev = rq->donor, *next;
	bool was_rt = prev != rt_idle;
	bool on_queue = was_rt && rq->rt.queued >> prev->number & 1;

	rq->resched = 0;
	if (was_rt && !on_queue && rq->online && rt_wrong != RT_PULL_FIRST &&
	    READ_ONCE(rq->rt.highest_prio.curr) > prev->prio)
		pull_rt_task(rq);
	next = highest(rq);
	if (next == prev)
		return;
	if (was_rt) {
		if (on_queue && prev->nr_cpus_allowed > 1)
			enqueue_pushable_task(rq, prev);
		rt_overload_ease(rq, next);
	}
	set_next_task(rq, next);
	rq->donor = next;
	if (next != rt_idle && has_pushable_tasks(rq))
		push_rt_tasks(rq);
}

/* -------- what happens to a queue -------- */

void rt_wake(struct rq *rq, struct task_struct *p)
{
	raw_spin_rq_lock(rq);
	enqueue_task(rq, p);
	if (p->prio < rq->donor->prio)
		resched_curr(rq);
	else if (!rq->resched && p->nr_cpus_allowed > 1 && rt_wrong != RT_PUSH_FIRST)
		push_rt_tasks(rq);
	raw_spin_rq_unlock(rq);
}

struct task_struct *rt_block(struct rq *rq)
{
	struct task_struct *prev;

	raw_spin_rq_lock(rq);
	if (rt_wrong == RT_PULL_FIRST)
		pull_rt_task(rq);
	prev = rq->donor;
	if (prev != rt_idle)
		dequeue_task(rq, prev);
	choose(rq);
	raw_spin_rq_unlock(rq);
	return prev == rt_idle ? NULL : prev;
}

void rt_resched(struct rq *rq)
{
	raw_spin_rq_lock(rq);
	if (rq->resched)
		choose(rq);
	raw_spin_rq_unlock(rq);
}

void rt_look(struct rq *rq, u64 period)
{
	overload_query(rq->rd->rto, rq->cpu, period);
}

void rt_request(struct rq *rq, u32 who)
{
	rt_walks_request(rq, who);
}

void rt_allow(struct rq *rq, struct task_struct *p, unsigned long cpus)
{
	raw_spin_rq_lock(rq);
	dequeue_task(rq, p);
	p->cpus_mask.bits[0] = cpus;
	p->nr_cpus_allowed = (int)port_popcount64(cpus);
	enqueue_task(rq, p);
	raw_spin_rq_unlock(rq);
}

void rt_online(struct rq *rq)
{
	raw_spin_rq_lock(rq);
	rq->online = 1;
	if (rq->rt.overloaded)
		rt_overload_publish(rq);
	rq_level_update(rq);
	raw_spin_rq_unlock(rq);
}

void rt_offline(struct rq *rq)
{
	raw_spin_rq_lock(rq);
	if (rq->rt.overloaded)
		overload_clear(rq->rd->rto, rq->cpu);
	rq_level_set(rq, CPUPRI_INVALID);
	rq->online = 0;
	raw_spin_rq_unlock(rq);
}

bool rt_interrupts(struct rq *rq)
{
	u64 irqs = READ_ONCE(rq->irqs) ? port_xchg64(&rq->irqs, 0) : 0;

	for (u64 left = irqs; left; left &= left - 1) {
		struct irq_work *work = shim_works[__builtin_ctzll(left)];

		if (rt_wrong == RT_NOT_ROUND)
			continue;
		host_on(rq->cpu);
		work->func(work);
	}
	return irqs;
}

/* Both locks are held. */
static void dl_move(struct rq *from, struct rq *to)
{
	u64 *waiting = &from->dl.earliest_dl.curr, *runs = &to->dl.earliest_dl.curr;

	if (*waiting < 2 || *runs)
		return;
	WRITE_ONCE(*waiting, *waiting - 1);
	WRITE_ONCE(*runs, 1);
	if (*waiting < 2)
		overload_clear(from->rd->dlo, from->cpu);
}

/*
 * Deadline tasks are only counted: one runs, others wait. A level of 1 says that one runs; a search
 * for a CPU looks for 0. Linux has a heap of deadlines for that, which is not ours.
 */
void dl_wait(struct rq *rq)
{
	u64 *here = &rq->dl.earliest_dl.curr;

	raw_spin_rq_lock(rq);
	WRITE_ONCE(*here, *here + 1);
	overload_set(rq->rd->dlo, rq->cpu, true);
	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++) {
		struct rq *other = cpu_rq(cpu);

		if (other != rq && !READ_ONCE(other->dl.earliest_dl.curr)) {
			double_lock_balance(rq, other);
			dl_move(rq, other);
			raw_spin_rq_unlock(other);
		}
	}
	raw_spin_rq_unlock(rq);
}

void dl_finish(struct rq *rq)
{
	s64 cpu;

	raw_spin_rq_lock(rq);
	WRITE_ONCE(rq->dl.earliest_dl.curr, 0);
	if (dl_overloaded(rq))
		for_each_dl_overloaded(cpu, rq)
		{
			struct rq *other = cpu_rq((u32)cpu);

			if (other == rq)
				continue;
			double_lock_balance(rq, other);
			dl_move(other, rq);
			raw_spin_rq_unlock(other);
		}
	raw_spin_rq_unlock(rq);
}

/* -------- the machine -------- */

void rt_place(struct rq *rq, struct task_struct *p)
{
	p->cpu = rq->cpu;
	rq->rt.queued |= 1ull << p->number;
}

/* The highest of the placed tasks runs, the others wait, and all state is published. */
void rt_settle(struct rq *rq)
{
	u64 queued = rq->rt.queued;

	rq->donor = highest(rq);
	rq->rt.highest_prio.curr = queued ? rq->donor->prio : MAX_RT_PRIO - 1;
	rq->lock = 1;
	for (u64 left = queued; left; left &= left - 1) {
		struct task_struct *p = shim_tasks[__builtin_ctzll(left)];

		if (p != rq->donor && p->nr_cpus_allowed > 1)
			enqueue_pushable_task(rq, p);
	}
	rq_level_update(rq);
	rq->lock = 0;
}

static struct task_struct *make_task(u32 number, int prio)
{
	struct task_struct *p = port_alloc(sizeof(*p), -1);

	if (!p)
		return NULL;
	p->number = number;
	p->prio = prio;
	p->pushable_tasks.prio = prio;
	p->cpus_mask = shim_active;
	p->nr_cpus_allowed = SHIM_CPUS;
	return p;
}

bool rt_machine(const struct shard_plan *plan)
{
	schedshard_plan = plan;
	rt_wrong = RT_RIGHT;
	rt_rd = port_alloc(sizeof(*rt_rd), -1);
	rt_idle = make_task(SHIM_TASKS, PRIO_IDLE);
	if (!rt_rd || !rt_idle || !cpupri_init(&rt_rd->cpupri, plan))
		return false;
	rt_rd->rto = overload_alloc(plan);
	rt_rd->dlo = overload_alloc(plan);
	if (!rt_rd->rto || !rt_rd->dlo || !rt_walks_alloc(rt_rd))
		return false;
	for (u32 i = 0; i <= rt_rd->rto_walks->nr; i++) {
		struct irq_work *work = &rt_rd->rto_walks->walk[i]->work;

		work->number = i;
		shim_works[i] = work;
	}
	for (u32 i = 0; i < SHIM_TASKS; i++)
		if (!(shim_tasks[i] = make_task(i, 10 * (int)(i + 1))))
			return false;
	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++) {
		struct rq *rq = port_alloc(sizeof(*rq), -1);

		if (!rq)
			return false;
		rq->cpu = cpu;
		rq->rd = rt_rd;
		rq->online = 1;
		rq->donor = rt_idle;
		shim_rq[cpu] = rq;
	}
	return true;
}
