// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Push and pull implement the rule of the RT class: the highest tasks of the machine run, each on a
 * CPU that it may use.
 *
 * Why no task is missed: the CPU that makes a task wait pushes it (the waker, or the CPU that
 * picked another task). If that CPU finds no CPU at a lower level, every CPU whose level drops
 * later pulls. The waker adds the queue to the overload set before it searches the map, and a CPU
 * whose level drops lowers it in the map before it reads the overload set. So at least one of the
 * two sees the other.
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

/* Find and lock a queue to which @p may be pushed. Return: NULL if there is none. */
static struct rt_rq *lock_lowest(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p)
{
	for (int i = 0; i < PUSH_TRIES; i++) {
		s64 cpu = rt_find_lowest(me, p);
		struct rt_rq *lowest;

		if (cpu < 0 || cpu == rq->cpu)
			return NULL;
		lowest = rt_rq_of(me, (u32)cpu);
		if (READ_ONCE(lowest->level) >= p->level)
			return NULL; /* another task has taken that CPU meanwhile */
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
