// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Allocates all shared objects, those of each CPU in the memory of its node. */
#include "fair_rq.h"

#include <string.h>

#include "arena.h"
#include "machine.h"
#include "model.h"
#include "rd.h"

static struct fair_task *task_new(u32 cpu, int node, struct fair_thread *t)
{
	struct fair_task *p =
		arena_alloc(sizeof(*p), node, t ? "task" : "idle task", "struct fair_task");

	p->cpu = cpu;
	p->recent = cpu;
	p->thread = t;
	return p;
}

static void cpu_init(struct fair *f, u32 index)
{
	const struct model_core *core = &f->model->core[f->model->cpu[index].core];
	struct fair_cpu *c = &f->cpu[index];
	struct fair_rq *rq = arena_alloc(sizeof(*rq), (int)core->node, "rq", "struct fair_rq");

	c->fair = f;
	c->index = index;
	c->number = f->model->cpu[index].number;
	c->core = f->model->cpu[index].core;
	c->llc = core->llc;
	c->node = core->node;
	c->package = core->package;
	c->evict_to = -1;
	c->mode = FAIR_KERNEL;
	c->rq = rq;
	c->idle = task_new(index, (int)core->node, NULL);
	c->idle->on_cpu = 1;
	c->curr = c->idle;
	rq->cpu = index;
	rq->curr = c->idle;
	rq->max_idle_cost = f->costs.migration;
	rq->avg_idle = 2 * f->costs.migration;
	rt_list_init(&rq->queue);
	if (!f->llc[c->llc])
		f->llc[c->llc] = arena_alloc(sizeof(struct fair_llc), (int)core->node,
					     "sched_domain_shared", "struct fair_llc");
	c->shared = f->llc[c->llc];
	c->shared->nr_busy++;
	c->shared->scan = UINT32_MAX - 1; /* all CPUs, until a balance computes a better number */
	f->by_number[c->number] = index;
}

struct fair *fair_create(const struct model *model, const struct idle_ops *ops,
			 const struct fair_costs *costs, u32 cap)
{
	struct fair *f = zalloc(1, sizeof(*f));
	struct shard_plan_opts opts = { .cap = cap };
	u32 numbers = model->machine->topo.nr_cpus;

	f->model = model;
	f->ops = ops;
	f->costs = *costs;
	f->nr_cpus = model->nr_cpus;
	f->nr_llcs = model->nr_llcs;
	f->cpu = zalloc(f->nr_cpus, sizeof(*f->cpu));
	f->llc = zalloc(f->nr_llcs, sizeof(struct fair_llc *));
	f->by_number = zalloc(numbers, sizeof(*f->by_number));
	memset(f->by_number, 0xff, numbers * sizeof(*f->by_number));
	f->overloaded = arena_alloc(sizeof(*f->overloaded), 0, "root_domain.overloaded", NULL);
	for (u32 i = 0; i < f->nr_cpus; i++)
		cpu_init(f, i);
	arena_label("shard plan", NULL);
	rd_label_hook = arena_label;
	if (!shard_plan_build(&f->plan, &model->machine->topo, &opts))
		f->idle = ops->create(&model->machine->topo, f->plan);
	if (!f->idle) {
		fair_free(f);
		return NULL;
	}
	fair_domains_build(f);
	return f;
}

void fair_free(struct fair *f)
{
	for (u32 i = 0; i < f->nr_cpus; i++)
		free(f->cpu[i].timers.timer);
	for (u32 i = 0; i < f->nr_threads; i++)
		free(f->thread[i]);
	free(f->thread);
	fair_domains_free(f);
	f->ops->destroy(f->idle);
	free(f->llc);
	free(f->by_number);
	free(f->cpu);
	free(f);
}

struct fair_thread *fair_thread_new(struct fair *f,
				    void (*run)(struct fair_cpu *, struct fair_thread *), void *arg)
{
	struct fair_thread *t = zalloc(1, sizeof(*t));

	f->thread = grown(f->thread, f->nr_threads, &f->cap_threads, sizeof(*f->thread));
	t->id = f->nr_threads;
	t->run = run;
	t->arg = arg;
	t->blocked = true;
	t->task = task_new(0, (int)(t->id % f->model->nr_nodes), t);
	t->task->state = FAIR_ASLEEP;
	f->thread[f->nr_threads++] = t;
	return t;
}

size_t fair_idle_bytes(const struct fair *f)
{
	return f->ops->bytes(f->idle);
}

u32 fair_task_cpu(const struct fair_thread *t)
{
	return t->task->cpu;
}
