// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Pulls waiting tasks of other CPUs to a CPU whose level dropped. push.c says why none is missed.
 */
#include "rq.h"

#define MOST_ASKED 8

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

/* May a task wait on @from that would run here? Read without its lock. */
static bool may_come(const struct rt_cpu *me, const struct rt_rq *rq, const struct rt_rq *from)
{
	const struct rd_ops *ops = me->rt->ops;
	struct rd_reach reach;

	if (from == rq || READ_ONCE(from->next_level) <= rq->level)
		return false;
	if (!ops->reaches)
		return true;
	reach.shards = READ_ONCE(from->reach.shards);
	reach.places = READ_ONCE(from->reach.places);
	return ops->reaches(reach, rq->cpu);
}

static void pull_from_all(struct rt_cpu *me, struct rt_rq *rq, u64 where)
{
	const struct rd_ops *ops = me->rt->ops;
	bool moved = false;

	for (s64 cpu = ops->next(rq->rd, rq->cpu, where, -1); cpu >= 0;
	     cpu = ops->next(rq->rd, rq->cpu, where, cpu)) {
		struct rt_rq *from = rt_rq_of(me, (u32)cpu);
		struct rt_task *p;

		if (!may_come(me, rq, from))
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

/* Ask few queues each by itself, many by a walk. */
static void ask(struct rt_cpu *me, struct rt_rq *rq, u64 where)
{
	const struct rd_ops *ops = me->rt->ops;
	u32 asked[MOST_ASKED], n = 0;

	for (s64 cpu = ops->next(rq->rd, rq->cpu, where, -1); cpu >= 0;
	     cpu = ops->next(rq->rd, rq->cpu, where, cpu)) {
		if (!may_come(me, rq, rt_rq_of(me, (u32)cpu)))
			continue;
		if (n == MOST_ASKED) {
			rt_tell_to_push(me, rq);
			return;
		}
		asked[n++] = (u32)cpu;
	}
	while (n)
		rt_ask_to_push(me, asked[--n]);
}

void rt_pull(struct rt_cpu *me, struct rt_rq *rq)
{
	u64 begin = sim_now(), where = 0;
	u32 who = me->rt->ops->overloaded(rq->rd, rq->cpu, &where);

	me->stats.pull_time += sim_now() - begin;
	me->stats.pulls++;
	if (who & RD_OTHERS) {
		me->stats.pulls_asked++;
		if (me->rt->push_ipi && where == RD_FROM_ALL)
			rt_tell_to_push(me, rq);
		else if (me->rt->push_ipi)
			ask(me, rq, where);
		else
			pull_from_all(me, rq, where);
	}
	rt_longest(&me->stats.longest_pull, sim_now() - begin);
}
