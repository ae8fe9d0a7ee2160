// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Each receiver has its own socket, to which all senders of its group write. A thread makes one
 * system call at a time, and repeats a call that had to wait.
 *
 * hackbench ends after a number of messages. This experiment ends at a fixed time (@over), so all
 * variants are measured equally long.
 */
#include "hackbench.h"

#include "model.h"
#include "rt/private.h"
#include "sim.h"

struct hack_group {
	struct fair_channel **to; /* by receiver */
	u32 pairs;
};

struct hack_thread {
	struct hackbench *h;
	struct hack_group *group;
	struct fair_thread *thread;
	u32 next; /* receiver */
};

/*
 * The user time of a message: uniform in [0.9, 1.1] x the mean, so that threads do not synchronise.
 */
static u64 some_work(const struct hackbench *h)
{
	return h->work * 9 / 10 + sim_random() % (h->work / 5 + 1) + 1;
}

/* Begin a step of a thread. Return: does the thread continue? */
static bool begin(struct fair_cpu *me, struct hackbench *h)
{
	h->step(me, h->arg);
	if (h->over)
		fair_exit(me);
	return !h->over;
}

static void send(struct fair_cpu *me, struct fair_thread *t)
{
	struct hack_thread *self = t->arg;

	if (!begin(me, self->h) || !fair_send(me, self->group->to[self->next]))
		return;
	self->next = (self->next + 1) % self->group->pairs;
	t->left = some_work(self->h);
}

static void receive(struct fair_cpu *me, struct fair_thread *t)
{
	struct hack_thread *self = t->arg;

	if (!begin(me, self->h) || !fair_receive(me, self->group->to[self->next]))
		return;
	self->h->received += self->h->on;
	t->left = some_work(self->h);
}

static void add_thread(struct hackbench *h, struct fair *f, struct hack_group *g, u32 next,
		       void (*run)(struct fair_cpu *, struct fair_thread *))
{
	struct hack_thread *t = &h->thread[h->nr_threads++];

	*t = (struct hack_thread){ .h = h, .group = g, .next = next };
	t->thread = fair_thread_new(f, run, t);
}

static void add_group(struct hackbench *h, struct fair *f, u32 pairs, u32 capacity, u32 cpu)
{
	struct hack_group *g = &h->group[h->nr_groups++];

	g->pairs = pairs;
	g->to = zalloc(pairs, sizeof(*g->to));
	for (u32 i = 0; i < pairs; i++)
		g->to[i] = fair_channel_new(f, cpu, capacity, pairs);
	for (u32 i = 0; i < pairs; i++)
		add_thread(h, f, g, i, receive);
	for (u32 i = 0; i < pairs; i++)
		add_thread(h, f, g, 0, send);
}

void hackbench_new(struct hackbench *h, struct fair *f, u32 tasks, u32 pairs, u32 capacity,
		   u64 work)
{
	u32 left = tasks / 2;

	h->work = work;
	h->group = zalloc((left + pairs - 1) / pairs, sizeof(*h->group));
	h->thread = zalloc(tasks, sizeof(*h->thread));
	for (; left; left -= pairs < left ? pairs : left)
		add_group(h, f, pairs < left ? pairs : left, capacity, 0);
}

void hackbench_free(struct hackbench *h)
{
	for (u32 g = 0; g < h->nr_groups; g++) {
		for (u32 i = 0; i < h->group[g].pairs; i++)
			fair_channel_free(h->group[g].to[i]);
		free(h->group[g].to);
	}
	free(h->group);
	free(h->thread);
}

struct fair_thread *hackbench_thread(const struct hackbench *h, u32 i)
{
	return h->thread[i].thread;
}

double hackbench_llcs(const struct hackbench *h, const struct model *model)
{
	u32 *seen = zalloc(model->nr_llcs, sizeof(*seen)), llcs = 0;

	for (u32 i = 0; i < h->nr_threads; i++) {
		const struct hack_thread *t = &h->thread[i];
		u32 cpu = fair_task_cpu(t->thread), group = (u32)(t->group - h->group) + 1;
		u32 *last = &seen[model->core[model->cpu[cpu].core].llc];

		llcs += *last != group; /* the threads of a group are consecutive */
		*last = group;
	}
	free(seen);
	return (double)llcs / h->nr_groups;
}
