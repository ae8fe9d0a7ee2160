// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why the state of the root domain agrees with the queue: only this file changes that state, under
 * the queue's lock, together with the queue.
 *
 * - level: the queue's highest RT level, running task included. Only a change of it reaches the map
 *   (set_level): rises in enqueue, drops in dequeue.
 * - pushable: RT tasks that are queued, do not run, and may run elsewhere. In Linux the CPU is in
 *   the overload set while its queue has such a task. A task woken on an idle CPU is pushable for
 *   the short time until it runs there. So every wake-up of a task that may migrate sets and clears
 *   its CPU's overload, which is half of the contention of the overload count. A layout may want
 *   only CPUs where a task really waits, see update_overload().
 * - The flag `overloaded` is read when the queue comes to have two or more tasks, and written if it
 *   was not set. At each change the RT class takes all its tasks out of the count and back into it.
 *   So the class reads the flag at every change that leaves two or more.
 */
#include "rq.h"

static void publish_level(struct rt_cpu *me, struct rt_rq *rq)
{
	u64 begin = sim_now();

	me->rt->ops->set_level(rq->rd, rq->cpu, rq->level);
	me->stats.set_time += sim_now() - begin;
	me->stats.sets++;
}

static void set_overload(struct rt_cpu *me, struct rt_rq *rq, u64 overloaded)
{
	u64 begin = sim_now();

	if (overloaded)
		me->rt->ops->overload_set(rq->rd, rq->cpu, overloaded);
	else
		me->rt->ops->overload_clear(rq->rd, rq->cpu);
	me->stats.overload_time += sim_now() - begin;
	me->stats.overloads += overloaded && !rq->overloaded;
	rq->overloaded = overloaded;
}

/*
 * Update the overload set if necessary; @running: the level of the running task. A layout with
 * only_waiting ignores tasks that outrank the running one. Such tasks run here in a moment: a pull
 * skips them, and a push reschedules this CPU instead. Called again when the running task changes.
 */
static void update_overload(struct rt_cpu *me, struct rt_rq *rq, s32 running)
{
	const struct rd_ops *ops = me->rt->ops;
	const struct rt_task *last = rt_list_item(rq->pushable.prev, struct rt_task, push_node);
	u64 overloaded = 0;

	if (!rt_list_empty(&rq->pushable) && (!ops->only_waiting || last->level <= running))
		overloaded = ops->reach ? rq->reach.shards : 1;
	if (overloaded != rq->overloaded)
		set_overload(me, rq, overloaded);
}

/* The queue now has two or more tasks, RT and normal ones together: set the domain's flag. */
static void two_running(struct rt_cpu *me, struct rt_rq *rq)
{
	u8 *flag = me->rt->ops->flag(rq->rd);

	me->stats.stacked++;
	if (!READ_ONCE(*flag))
		WRITE_ONCE(*flag, 1);
}

static void count_rt(struct rt_cpu *me, struct rt_rq *rq)
{
	rq->nr_running = rq->nr_rt + rq->nr_normal;
	if (rq->nr_normal < 2 && rq->nr_rt && rq->nr_running >= 2)
		two_running(me, rq);
}

/* ---- pushable tasks ---- */

struct rt_task *rt_first_pushable(const struct rt_rq *rq)
{
	if (rt_list_empty(&rq->pushable))
		return NULL;
	return rt_list_item(rq->pushable.next, struct rt_task, push_node);
}

static void unlink_pushable(struct rt_rq *rq, struct rt_task *p)
{
	if (!p->pushable)
		return;
	rt_list_del(&p->push_node);
	p->pushable = 0;
}

static void dequeue_pushable(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p, s32 running)
{
	struct rt_task *first;

	unlink_pushable(rq, p);
	first = rt_first_pushable(rq);
	WRITE_ONCE(rq->next_level, first ? first->level : 0);
	if (!first) {
		WRITE_ONCE(rq->reach.shards, 0);
		WRITE_ONCE(rq->reach.places, 0);
	}
	update_overload(me, rq, running);
}

static void enqueue_pushable(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p)
{
	struct rt_list *at;

	unlink_pushable(rq, p);
	for (at = rq->pushable.next; at != &rq->pushable; at = at->next)
		if (rt_list_item(at, struct rt_task, push_node)->level < p->level)
			break;
	rt_list_add_before(&p->push_node, at);
	p->pushable = 1;
	if (p->level > rq->next_level)
		WRITE_ONCE(rq->next_level, p->level);
	WRITE_ONCE(rq->reach.shards, rq->reach.shards | p->reach.shards);
	WRITE_ONCE(rq->reach.places, rq->reach.places | p->reach.places);
	update_overload(me, rq, rq->curr->level);
}

/* ---- the priority array ---- */

static s32 highest(const struct rt_rq *rq)
{
	for (int w = 1; w >= 0; w--)
		if (rq->used[w])
			return w * 64 + 63 - __builtin_clzll(rq->used[w]);
	return 0;
}

static void link(struct rt_rq *rq, struct rt_task *p, bool first)
{
	struct rt_list *head = &rq->queue[p->level];

	rt_list_add_before(&p->run_node, first ? head->next : head);
	rq->used[p->level / 64] |= 1ull << (p->level % 64);
}

static void unlink(struct rt_rq *rq, struct rt_task *p)
{
	rt_list_del(&p->run_node);
	if (rt_list_empty(&rq->queue[p->level]))
		rq->used[p->level / 64] &= ~(1ull << (p->level % 64));
}

void rt_enqueue(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p, bool first)
{
	sim_spend(me->rt->costs.queue);
	WRITE_ONCE(p->on_rq, 1);
	if (p->level < 1) {
		rt_list_add_before(&p->run_node, &rq->normal);
		rq->nr_normal++;
		if (++rq->nr_running == 2)
			two_running(me, rq);
		return;
	}
	link(rq, p, first);
	rq->nr_rt++;
	if (p->level > rq->level) {
		WRITE_ONCE(rq->level, p->level);
		publish_level(me, rq);
	}
	count_rt(me, rq);
	if (rq->curr == p)
		update_overload(me, rq, p->level);
	else if (p->nr_allowed > 1)
		enqueue_pushable(me, rq, p);
}

void rt_dequeue(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p)
{
	s32 level;

	sim_spend(me->rt->costs.queue);
	WRITE_ONCE(p->on_rq, 0);
	if (p->level < 1) {
		rt_list_del(&p->run_node);
		rq->nr_normal--;
		rq->nr_running--;
		return;
	}
	unlink(rq, p);
	rq->nr_rt--;
	level = highest(rq);
	if (level != rq->level) {
		WRITE_ONCE(rq->level, level);
		publish_level(me, rq);
	}
	count_rt(me, rq);
	dequeue_pushable(me, rq, p, rq->curr->level);
}

void rt_requeue(struct rt_rq *rq, struct rt_task *p, bool first)
{
	rt_list_del(&p->run_node);
	if (p->level < 1) {
		rt_list_add_before(&p->run_node, &rq->normal);
		return;
	}
	rt_list_add_before(&p->run_node, first ? rq->queue[p->level].next : &rq->queue[p->level]);
}

/* ---- which task runs ---- */

struct rt_task *rt_pick(const struct rt_rq *rq)
{
	if (rq->nr_rt)
		return rt_list_item(rq->queue[highest(rq)].next, struct rt_task, run_node);
	if (rq->nr_normal)
		return rt_list_item(rq->normal.next, struct rt_task, run_node);
	return NULL;
}

/* The previous task waits from now on, if it is runnable. */
void rt_put_prev(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p)
{
	if (p->level < 1 || !p->on_rq)
		return;
	me->stats.preempted++;
	if (p->nr_allowed > 1)
		enqueue_pushable(me, rq, p);
}

/* The next task cannot be pushed; those that still wait can. */
void rt_set_next(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p)
{
	if (p->level < 1)
		return;
	dequeue_pushable(me, rq, p, p->level);
	me->push |= !rt_list_empty(&rq->pushable);
}

void rt_note_migration(struct rt_cpu *me, u32 from, u32 to)
{
	struct rt_cpu *const *by_number = me->rt->by_number;

	me->stats.migrations++;
	me->stats.migrations_far += by_number[from]->package != by_number[to]->package;
}

void rt_move(struct rt_cpu *me, struct rt_rq *from, struct rt_rq *to, struct rt_task *p)
{
	rt_dequeue(me, from, p);
	WRITE_ONCE(p->cpu, to->cpu);
	rt_enqueue(me, to, p, false);
	rt_note_migration(me, from->cpu, to->cpu);
}
