// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Chooses where a task should run. The search reads queues without locks while they change, so its
 * answer may be outdated. That does no harm: a push checks again under the lock of the chosen
 * queue. A wake-up enqueues there anyway, and that CPU then pushes the task on.
 */
#include "rq.h"

#include <string.h>

#include "model.h"

int rt_find(struct rt_cpu *me, struct rt_task *p, unsigned long *found)
{
	const struct rd_ops *ops = me->rt->ops;
	struct rd *rd = rt_rq_of(me, p->cpu)->rd;
	u64 begin = sim_now(), took;
	int level;

	/* A caller that takes one of the CPUs found takes one near the task's last CPU. */
	if (found)
		level = ops->find_near(rd, p->level, p->cpu, p->allowed, found, NULL, NULL);
	else
		level = ops->find(rd, p->level, me->number, p->allowed, NULL, NULL, NULL);
	took = sim_now() - begin;
	me->stats.find_time += took;
	rt_longest(&me->stats.longest_find, took);
	me->stats.finds++;
	me->stats.found += level != 0;
	return level;
}

bool rt_share_cache(const struct rt_cpu *me, u32 cpu)
{
	return me->rt->by_number[cpu]->llc == me->llc;
}

/* Scheduler domains, smallest first: siblings, cache, node, package, machine. */
enum { DOMAIN_CORE, DOMAIN_LLC, DOMAIN_NODE, DOMAIN_PACKAGE, DOMAIN_ALL, DOMAINS };

static bool same_domain(const struct rt_cpu *a, const struct rt_cpu *b, int domain)
{
	switch (domain) {
	case DOMAIN_CORE:
		return a->core == b->core;
	case DOMAIN_LLC:
		return a->llc == b->llc;
	case DOMAIN_NODE:
		return a->node == b->node;
	case DOMAIN_PACKAGE:
		return a->package == b->package;
	}
	return true;
}

/*
 * A CPU of @mask in @home's domain, chosen in turn, or -1. Mask and topology are not simulated.
 */
static s64 any_distribute(struct rt_cpu *me, const struct rt_cpu *home, int domain)
{
	const struct rt *rt = me->rt;

	for (u32 i = 1; i <= rt->nr_numbers; i++) {
		u32 cpu = (me->cursor + i) % rt->nr_numbers;

		if (rt_mask_test(me->lowest, cpu) &&
		    same_domain(home, rt->by_number[cpu], domain)) {
			me->cursor = cpu;
			return cpu;
		}
	}
	return -1;
}

s64 rt_find_lowest(struct rt_cpu *me, struct rt_task *p)
{
	const struct rt_cpu *home;
	bool here;

	if (p->nr_allowed == 1)
		return -1;
	memset(me->lowest, 0, me->rt->mask_words * sizeof(*me->lowest));
	if (!rt_find(me, p, me->lowest))
		return -1;
	if (rt_mask_test(me->lowest, p->cpu))
		return p->cpu;
	home = me->rt->by_number[p->cpu];
	here = rt_mask_test(me->lowest, me->number);
	for (int d = 0; d < DOMAINS; d++) {
		s64 cpu;

		if (here && same_domain(home, me, d))
			return me->number;
		cpu = any_distribute(me, home, d);
		if (cpu >= 0)
			return cpu;
	}
	return -1;
}

static u32 select_rt(struct rt_cpu *me, struct rt_task *p)
{
	const struct rt_task *curr = READ_ONCE(rt_rq_of(me, p->cpu)->curr);
	s64 cpu;

	if (READ_ONCE(curr->level) < 1 ||
	    (curr->nr_allowed > 1 && READ_ONCE(curr->level) < p->level))
		return p->cpu;
	cpu = rt_find_lowest(me, p);
	if (cpu >= 0 && READ_ONCE(rt_rq_of(me, (u32)cpu)->level) < p->level)
		return (u32)cpu;
	return p->cpu;
}

/* The fair class, simplified: the previous CPU if it is idle, else an idle one. */
static u32 select_normal(struct rt_cpu *me, struct rt_task *p)
{
	if (!READ_ONCE(rt_rq_of(me, p->cpu)->nr_running))
		return p->cpu;
	for (u32 w = 0; w < me->rt->mask_words; w++)
		for (unsigned long bits = p->allowed[w]; bits; bits &= bits - 1) {
			u32 cpu = w * 64 + (u32)__builtin_ctzl(bits);

			if (!READ_ONCE(rt_rq_of(me, cpu)->nr_running))
				return cpu;
		}
	return p->cpu;
}

u32 rt_select(struct rt_cpu *me, struct rt_task *p)
{
	u32 cpu = p->cpu;

	if (p->nr_allowed > 1)
		cpu = p->level < 1 ? select_normal(me, p) : select_rt(me, p);
	if (rt_may_run(p, cpu))
		return cpu;
	/* The previous CPU is no longer allowed. */
	for (u32 w = 0;; w++)
		if (p->allowed[w])
			return w * 64 + (u32)__builtin_ctzl(p->allowed[w]);
}
