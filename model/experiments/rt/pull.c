// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Pull: a CPU whose level fell takes tasks that wait on other CPUs. push.c says why no task is
 * missed.
 */
#include "rq.h"

/* The highest pushable task that may run on @cpu. */
static struct rt_task *pushable_for(const struct rt_rq *rq, u32 cpu)
{
	for (struct rt_list *l = rq->pushable.next; l != &rq->pushable; l = l->next) {
		struct rt_task *p = rt_list_item(l, struct rt_task, push_node);

		if (rt_may_run(p, cpu))
			return p;
	}
	return NULL;
}

/* Visit the overloaded CPUs of a walk from this CPU. */
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
		/* A task that outranks its CPU's current task will run there in a moment. */
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
	u32 who = me->rt->ops->overloaded(rq->rd, rq->cpu, me->rt->period);

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
