// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Allocates all shared objects. Each CPU's queue is in the memory of the CPU's node, each thread's
 * task in that of the CPU where it starts.
 */
#include "rq.h"

#include <string.h>

#include "arena.h"
#include "machine.h"
#include "model.h"

static struct rt_task *task_new(struct rt *rt, struct rt_cpu *c, int level,
				const unsigned long *allowed, struct rt_thread *t)
{
	size_t size = sizeof(struct rt_task) + rt->mask_words * sizeof(unsigned long);
	int node = rt->model->machine->topo.cpu[c->number].node;
	struct rt_task *p = arena_alloc(size, node, t ? "task" : "idle task", "struct rt_task");

	p->cpu = c->number;
	p->level = level;
	p->thread = t;
	for (u32 w = 0; w < rt->mask_words; w++) {
		p->allowed[w] = allowed[w];
		p->nr_allowed += port_popcount64(allowed[w]);
	}
	if (t && rt->ops->reach) /* the first root domain makes the slots */
		p->reach = rt->ops->reach(allowed);
	return p;
}

static void rq_init(struct rt *rt, struct rt_cpu *c)
{
	int node = rt->model->machine->topo.cpu[c->number].node;
	struct rt_rq *rq = arena_alloc(sizeof(*rq), node, "rq", "struct rt_rq");
	unsigned long *only = zalloc(rt->mask_words, sizeof(*only));

	only[c->number / 64] = 1ul << (c->number % 64);
	c->idle = task_new(rt, c, RT_IDLE, only, NULL);
	c->idle->on_cpu = 1;
	c->curr = c->idle;
	c->rq = rq;
	rq->cpu = c->number;
	rq->curr = c->idle;
	rt_list_init(&rq->pushable);
	rt_list_init(&rq->normal);
	for (u32 i = 0; i < RT_LEVELS; i++)
		rt_list_init(&rq->queue[i]);
	free(only);
}

static void cpu_init(struct rt *rt, u32 index)
{
	struct rt_cpu *c = &rt->cpus[index];
	const struct model_core *core = &rt->model->core[rt->model->cpu[index].core];

	c->rt = rt;
	c->index = index;
	c->number = rt->model->cpu[index].number;
	c->core = (s32)rt->model->cpu[index].core;
	c->llc = (s32)core->llc;
	c->node = (s32)core->node;
	c->package = (s32)core->package;
	c->mode = RT_KERNEL;
	c->lowest = zalloc(rt->mask_words, sizeof(*c->lowest));
	rt->by_number[c->number] = c;
	rq_init(rt, c);
}

static int join(struct rt *rt, const unsigned long *span)
{
	struct rd *rd;

	arena_label("root_domain", NULL);
	rd = rt->ops->create(&rt->model->machine->topo, rt->plan, span);
	rt->domain = realloc(rt->domain, (rt->nr_domains + 1) * sizeof(*rt->domain));
	if (!rt->domain)
		abort();
	if (!rd)
		return -1;
	rt->domain[rt->nr_domains++] = rd;
	for (u32 i = 0; i < rt->nr_cpus; i++) {
		struct rt_rq *rq = rt->cpus[i].rq;

		if (!rt_mask_test(span, rq->cpu))
			continue;
		if (rq->rd)
			rt->ops->set_level(rq->rd, rq->cpu, CPUPRI_INVALID);
		rq->rd = rd;
		rt->ops->set_level(rd, rq->cpu, CPUPRI_NORMAL);
	}
	return 0;
}

void rt_set_extra_finds(struct rt *rt, u32 thousandths)
{
	rt->extra_finds = thousandths;
}

int rt_partition(struct rt *rt, const unsigned long *span)
{
	return join(rt, span);
}

struct rt *rt_create(const struct model *model, const struct rd_ops *ops,
		     const struct rt_costs *costs, u32 cap, bool push_ipi)
{
	struct rt *rt = zalloc(1, sizeof(*rt));
	struct shard_plan_opts opts = { .cap = cap };
	unsigned long *all;
	int failed;

	rt->model = model;
	rt->ops = ops;
	rt->costs = *costs;
	rt->push_ipi = push_ipi;
	rt->nr_cpus = model->nr_cpus;
	rt->nr_numbers = model->machine->topo.nr_cpus;
	rt->mask_words = (rt->nr_numbers + 63) / 64;
	rt->cpus = zalloc(rt->nr_cpus, sizeof(*rt->cpus));
	rt->by_number = zalloc(rt->nr_numbers, sizeof(*rt->by_number));
	all = zalloc(rt->mask_words, sizeof(*all));
	for (u32 i = 0; i < rt->nr_cpus; i++) {
		cpu_init(rt, i);
		all[rt->cpus[i].number / 64] |= 1ul << (rt->cpus[i].number % 64);
	}
	arena_label("shard plan", NULL);
	failed = shard_plan_build(&rt->plan, &model->machine->topo, &opts) || join(rt, all);
	free(all);
	if (failed) {
		rt_free(rt);
		return NULL;
	}
	return rt;
}

void rt_free(struct rt *rt)
{
	for (u32 i = 0; i < rt->nr_cpus; i++) {
		free(rt->cpus[i].lowest);
		free(rt->cpus[i].timers.timer);
	}
	for (u32 i = 0; i < rt->nr_threads; i++)
		free(rt->thread[i]);
	free(rt->thread);
	free(rt->cpus);
	free(rt->by_number);
	for (u32 i = 0; i < rt->nr_domains; i++)
		rt->ops->destroy(rt->domain[i]);
	free(rt->domain);
	free(rt);
}

struct rt_thread *rt_thread_new(struct rt *rt, u32 cpu, int level, const unsigned long *allowed,
				void (*run)(struct rt_cpu *, struct rt_thread *), void *arg)
{
	struct rt_thread *t = zalloc(1, sizeof(*t));

	rt->thread = grown(rt->thread, rt->nr_threads, &rt->cap_threads, sizeof(*rt->thread));
	t->id = rt->nr_threads;
	rt->thread[rt->nr_threads++] = t;
	t->run = run;
	t->arg = arg;
	t->first_cpu = cpu;
	t->task = task_new(rt, rt->by_number[cpu], level, allowed, t);
	return t;
}

size_t rt_map_bytes(const struct rt *rt)
{
	size_t sum = 0;

	/* If every CPU is in a partition, the domain of all CPUs still exists, and is empty. */
	for (u32 i = rt->nr_domains > 1; i < rt->nr_domains; i++)
		sum += rt->ops->map_bytes(rt->domain[i]);
	return sum;
}

struct rt *rt_of(const struct rt_cpu *me)
{
	return me->rt;
}

u32 rt_cpu_number(const struct rt_cpu *me)
{
	return me->number;
}

u64 rt_salt(const struct rt *rt, u32 cpu)
{
	return rt->by_number[cpu]->salt;
}
