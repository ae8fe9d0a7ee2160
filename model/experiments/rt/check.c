// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The invariants that hold while no CPU is inside the kernel and no interrupt is on its way:
 *
 * 1. a runnable task is on exactly one queue, a sleeping one on none. The task's own CPU number is
 *    that of its queue, and the task may use that CPU;
 * 2. the queue's counts, level and bitmap agree with its lists; the map has the same level;
 * 3. the running task is the highest of its queue;
 * 4. the pushable list contains exactly the RT tasks that wait and may run elsewhere, in order. The
 *    CPU is in the overload set exactly if the list is not empty;
 * 5. no CPU that the first pushable task of a queue may use is at a lower level.
 *
 * Rule 5 is the purpose of the RT class, but neither Linux nor this copy of its behaviour always
 * follows it. If a push finds that the chosen CPU has just become busy, it does not try another
 * CPU. A push tries only the highest task of a queue, although a lower one may have other CPUs. A
 * waiting task whose level rises, but not above that of the running task, is not pushed at all.
 * These tasks wait for the next pull. So a violation of rule 5 is counted, and aborts only with
 * RT_CHECK_PLACEMENT.
 *
 * The check runs outside simulated time (sim_observe()), and so changes nothing.
 */
#include "rq.h"

#include <stdio.h>
#include <stdlib.h>

struct look {
	struct rt *rt;
	u8 *seen; /* by thread */
};

static void wrong(const struct rt_rq *rq, const char *what, long long is, long long should)
{
	fprintf(stderr, "schedshard: CPU %u: %s is %lld, should be %lld\n", rq->cpu, what, is,
		should);
	abort();
}

static void same(const struct rt_rq *rq, const char *what, long long is, long long should)
{
	if (is != should)
		wrong(rq, what, is, should);
}

static bool under_way(const struct rt *rt)
{
	for (u32 i = 0; i < rt->nr_cpus; i++) {
		const struct rt_cpu *c = &rt->cpus[i];

		if (c->rq->wake_list || c->rq->irq_work || c->rq->resched)
			return true;
	}
	return false;
}

static void check_task(struct look *l, const struct rt_rq *rq, const struct rt_task *p)
{
	same(rq, "a queued task's CPU", p->cpu, rq->cpu);
	same(rq, "on_rq of a queued task", p->on_rq, 1);
	same(rq, "state of a queued task", p->state, RT_RUNNABLE);
	same(rq, "on_cpu of a queued task", p->on_cpu, p == rq->curr);
	same(rq, "whether a queued task may run here", rt_may_run(p, rq->cpu), 1);
	same(rq, "how often a task was seen on queues", ++l->seen[p->thread->id], 1);
}

static u32 check_list(struct look *l, const struct rt_rq *rq, const struct rt_list *head, int level)
{
	u32 n = 0;

	for (const struct rt_list *i = head->next; i != head; i = i->next, n++) {
		const struct rt_task *p = rt_list_item(i, struct rt_task, run_node);
		bool waits = p != rq->curr && level >= 1 && p->nr_allowed > 1;

		check_task(l, rq, p);
		same(rq, "level of a task on a level's list", p->level, level);
		same(rq, "whether a queued task is pushable", p->pushable, waits);
	}
	return n;
}

static void check_levels(struct look *l, const struct rt_rq *rq)
{
	u32 words = l->rt->mask_words;
	unsigned long *only = calloc(2 * words, sizeof(*only)), *found = only + words;
	u32 nr_rt = 0, n;
	s32 level = 0;

	if (!only)
		abort();
	for (int i = 1; i < RT_LEVELS; i++) {
		n = check_list(l, rq, &rq->queue[i], i);
		same(rq, "bit of a level", rq->used[i / 64] >> (i % 64) & 1, n > 0);
		nr_rt += n;
		level = n ? i : level;
	}
	n = check_list(l, rq, &rq->normal, RT_NORMAL);
	same(rq, "nr_rt", rq->nr_rt, nr_rt);
	same(rq, "nr_normal", rq->nr_normal, n);
	same(rq, "nr_running", rq->nr_running, nr_rt + n);
	same(rq, "level of the queue", rq->level, level);
	same(rq, "level of the running task", rq->curr->level,
	     nr_rt ? level
	     : n   ? RT_NORMAL
		   : RT_IDLE);
	only[rq->cpu / 64] = 1ul << (rq->cpu % 64);
	same(rq, "level in the map",
	     l->rt->ops->find(rq->rd, CPUPRI_HIGHER, rq->cpu, only, found, NULL, NULL) - 1, level);
	free(only);
}

/* Does @by, a CPU that a pushable task of @rq may use, find @rq? */
static bool in_overload_set(const struct rt *rt, const struct rt_rq *rq, const struct rt_rq *by)
{
	const struct rd_ops *ops = rt->ops;
	u32 found = 0, visited = 0;
	u64 from;

	ops->overloaded(by->rd, by->cpu, &from);
	for (s64 cpu = ops->next(by->rd, by->cpu, from, -1); cpu >= 0;
	     cpu = ops->next(by->rd, by->cpu, from, cpu)) {
		found += cpu == rq->cpu;
		if (++visited > rt->nr_cpus)
			wrong(rq, "length of a walk over the overload set", visited, rt->nr_cpus);
	}
	return found;
}

static void check_pushable(const struct rt *rt, const struct rt_rq *rq)
{
	const struct rd_ops *ops = rt->ops;
	s32 level = RT_LEVELS;
	u32 n = 0;

	for (struct rt_list *i = rq->pushable.next; i != &rq->pushable; i = i->next, n++) {
		const struct rt_task *p = rt_list_item(i, struct rt_task, push_node);

		same(rq, "whether a task on the pushable list is pushable", p->pushable, 1);
		same(rq, "order of pushable tasks", p->level <= level, 1);
		level = p->level;
		for (u32 k = 0; k < rt->nr_cpus; k++) {
			const struct rt_rq *by = rt->cpus[k].rq;

			if (by->rd != rq->rd || !rt_may_run(p, by->cpu))
				continue;
			same(rq, "presence in the overload set", in_overload_set(rt, rq, by), 1);
			if (ops->reaches)
				same(rq, "reach", ops->reaches(rq->reach, by->cpu), 1);
		}
	}
	same(rq, "presence in the overload set", in_overload_set(rt, rq, rq), n > 0);
	same(rq, "overloaded", (s64)rq->overloaded, n ? ops->reach ? (s64)rq->reach.shards : 1 : 0);
	if (!n)
		same(rq, "reach of no task", (s64)(rq->reach.shards | rq->reach.places), 0);
	if (n)
		same(rq, "level of the first pushable task", rq->next_level,
		     rt_first_pushable(rq)->level);
}

/* The number of queues that break rule 5. */
static u32 misplaced(const struct rt *rt)
{
	u32 n = 0;

	for (u32 i = 0; i < rt->nr_cpus; i++) {
		const struct rt_rq *rq = rt->cpus[i].rq;
		const struct rt_task *p = rt_first_pushable(rq);

		for (u32 k = 0; p && k < rt->nr_cpus; k++) {
			const struct rt_rq *other = rt->cpus[k].rq;

			if (other->rd != rq->rd || !rt_may_run(p, other->cpu) ||
			    other->level >= p->level)
				continue;
			if (rt->check == RT_CHECK_PLACEMENT)
				wrong(other, "level, with a higher task waiting elsewhere",
				      other->level, p->level);
			n++;
			break;
		}
	}
	return n;
}

static void look(void *arg)
{
	struct look *l = arg;
	struct rt *rt = l->rt;

	if (under_way(rt))
		return;
	for (u32 i = 0; i < rt->nr_cpus; i++)
		check_levels(l, rt->cpus[i].rq);
	for (u32 i = 0; i < rt->nr_cpus; i++)
		check_pushable(rt, rt->cpus[i].rq);
	for (u32 i = 0; i < rt->nr_threads; i++)
		if (!l->seen[i])
			same(rt->by_number[rt->thread[i]->task->cpu]->rq, "state of an absent task",
			     rt->thread[i]->task->state, RT_ASLEEP);
	rt->checks++;
	rt->misplaced += misplaced(rt) > 0;
}

void rt_check_now(struct rt *rt)
{
	struct look l = { rt, calloc(rt->nr_threads + 1, 1) };

	if (!l.seen)
		abort();
	sim_observe(look, &l);
	free(l.seen);
}

void rt_check(struct rt *rt, enum rt_check what)
{
	rt->check = what;
}

u64 rt_checks_made(const struct rt *rt)
{
	return rt->checks;
}

u64 rt_checks_misplaced(const struct rt *rt)
{
	return rt->misplaced;
}
