// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Push and pull keep the promise of the RT class: the highest tasks of the machine run, each on
 * a CPU that it may use.
 *
 * Why nothing is missed: a task that starts to wait is pushed by the one who made it wait (the
 * waker, or the CPU that picked another task). If that found no CPU with a lower level, every
 * CPU that later falls to a lower level pulls. Between the two: the waker makes the queue
 * overloaded before it looks at the map; the falling CPU tells the map before it looks
 * whether anybody is overloaded. One of them sees the other.
 */
#include "rq.h"

#define PUSH_TRIES 3

bool rt_double_lock(struct rt_rq *mine, struct rt_rq *other)
{
	if (rt_trylock(&other->lock))
		return false;
	if (mine->cpu < other->cpu) {
		rt_lock(&other->lock);
		return false;
	}
	rt_unlock(&mine->lock);
	rt_lock(&other->lock);
	rt_lock(&mine->lock);
	return true;
}

/* Lock a queue that @p may be pushed to, or NULL. */
static struct rt_rq *lock_lowest(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p)
{
	for (int i = 0; i < PUSH_TRIES; i++) {
		s64 cpu = rt_find_lowest(me, p);
		struct rt_rq *lowest;

		if (cpu < 0 || cpu == rq->cpu)
			return NULL;
		lowest = rt_rq_of(me, (u32)cpu);
		if (READ_ONCE(lowest->level) >= p->level)
			return NULL; /* and will be in the next moment */
		if (rt_double_lock(rq, lowest) &&
		    (rt_first_pushable(rq) != p || !rt_may_run(p, lowest->cpu))) {
			rt_unlock(&lowest->lock);
			return NULL;
		}
		if (lowest->level < p->level)
			return lowest;
		rt_unlock(&lowest->lock);
	}
	return NULL;
}

bool rt_push_one(struct rt_cpu *me, struct rt_rq *rq)
{
	struct rt_task *p, *again;
	struct rt_rq *lowest;

	if (!rq->overloaded)
		return false;
	p = rt_first_pushable(rq);
	while (p) {
		if (p->level > rq->curr->level) {
			rt_resched(me, rq);
			return false;
		}
		me->stats.push_tries++;
		lowest = lock_lowest(me, rq, p);
		if (lowest) {
			rt_move(me, rq, lowest, p);
			rt_resched(me, lowest);
			rt_unlock(&lowest->lock);
			me->stats.pushes++;
			return true;
		}
		again = rt_first_pushable(rq);
		if (again == p)
			return false;
		p = again; /* the queue changed while its lock was dropped */
	}
	return false;
}

void rt_push_all(struct rt_cpu *me, struct rt_rq *rq)
{
	while (rt_push_one(me, rq))
		;
}

/* Highest pushable task that may run on @cpu. */
static struct rt_task *pushable_for(const struct rt_rq *rq, u32 cpu)
{
	for (struct rt_list *l = rq->pushable.next; l != &rq->pushable; l = l->next) {
		struct rt_task *p = rt_list_item(l, struct rt_task, push_node);

		if (rt_may_run(p, cpu))
			return p;
	}
	return NULL;
}

/* Go round the overloaded CPUs of a walk oneself. */
static void pull_from_all(struct rt_cpu *me, struct rt_rq *rq, u32 walk)
{
	const struct rd_ops *ops = me->rt->ops;
	bool moved = false;

	for (s64 cpu = ops->next(rq->rd, rq->cpu, walk, -1); cpu >= 0;
	     cpu = ops->next(rq->rd, rq->cpu, walk, cpu)) {
		struct rt_rq *from = rt_rq_of(me, (u32)cpu);
		struct rt_task *p;

		if (from == rq || READ_ONCE(from->next_level) <= rq->level)
			continue;
		rt_double_lock(rq, from);
		p = pushable_for(from, rq->cpu);
		/* One that is higher than its CPU's current task is about to run there. */
		if (p && p->level > rq->level && p->level <= from->curr->level) {
			rt_move(me, from, rq, p);
			me->stats.pulled++;
			moved = true;
		}
		rt_unlock(&from->lock);
	}
	if (moved)
		rt_resched(me, rq);
}

void rt_pull(struct rt_cpu *me, struct rt_rq *rq)
{
	u64 begin = sim_now();
	u32 who = me->rt->ops->overloaded(rq->rd, rq->cpu);

	me->stats.pull_time += sim_now() - begin;
	me->stats.pulls++;
	if (!(who & (RD_OTHERS | RD_FAR)))
		return;
	me->stats.pulls_asked++;
	for (u32 walk = 0; walk < 2; walk++) {
		if (!(who & (walk ? RD_FAR : RD_OTHERS)))
			continue;
		if (me->rt->push_ipi)
			rt_tell_to_push(me, rq, walk);
		else
			pull_from_all(me, rq, walk);
	}
}
