// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Performs random operations. The checker decides what is right, and the result shows that it ran.
 */
#include "cases.h"

#include <stdlib.h>

#include "arena.h"
#include "machine.h"
#include "model.h"
#include "sim.h"
#include "toy.h"

const struct rt_costs toy_costs = {
	.syscall = 100000,
	.futex = 100000,
	.schedule = 100000,
	.context_switch = 200000,
	.queue = 50000,
	.wake = 100000,
	.ipi_send = 100000,
	.ipi_travel = 500000,
	.irq = 200000,
	.idle_exit = 300000,
	.tick = 500000,
	.tick_period = 100000000,
};

#define US 1000000ull

static const int levels[] = { 0, 0, 1, 50, 50, 98, 99, 99 };

struct weather {
	const struct wind *wind;
	struct rt *rt;
	struct rt_thread **thread;
	u64 hash;
	unsigned long half[2]; /* CPUs of a thread at first, and of some later affinities */
};

static unsigned long some_cpus(const struct weather *w, const struct rt_thread *t)
{
	unsigned long all = w->half[t->id % 2], mask = sim_random() & all;

	/* Narrow affinities are the difficult ones. */
	if (sim_random() % 3 == 0) {
		mask &= sim_random();
		mask &= sim_random();
	}
	return mask ? mask : all;
}

static void act(struct rt_cpu *me, struct rt_thread *t)
{
	struct weather *w = t->arg;
	struct rt_thread *other = w->thread[sim_random() % w->wind->threads];
	unsigned long mask;

	w->hash = (w->hash ^ (sim_now() + rt_cpu_number(me) + t->id)) * 0x9e3779b97f4a7c15ull;
	if (sim_now() > w->wind->us * US) {
		rt_stop(me);
		rt_sleep_until(me, sim_now() + US);
		return;
	}
	rt_syscall_begin(me);
	switch (sim_random() % 16) {
	case 0:
		if (w->wind->changes)
			rt_set_level(me, other->task, levels[sim_random() % 8]);
		else if (t->id % 8 > 1)
			rt_set_level(me, t->task, levels[2 + sim_random() % 6]);
		break;
	case 1:
		if (!w->wind->changes)
			break;
		mask = some_cpus(w, other);
		rt_set_affinity(me, other->task, &mask);
		break;
	case 2:
		rt_syscall_end(me);
		rt_yield(me);
		t->left = US;
		return;
	case 3:
	case 4:
	case 5:
	case 6:
	case 7:
		rt_wake(me, other->task);
		break;
	default:
		rt_syscall_end(me);
		rt_sleep_until(me, sim_now() + sim_random() % (150 * US));
		return;
	}
	rt_syscall_end(me);
	t->left = 1 + sim_random() % (60 * US);
}

struct storm_result storm(const struct model *model, const struct rd_ops *ops,
			  const struct wind *wind)
{
	struct weather w = { .wind = wind };
	struct storm_result r = { 0 };

	w.rt = rt_create(model, ops, &toy_costs, 0, wind->push_ipi);
	CHECK(w.rt && model->nr_cpus);
	w.thread = calloc(wind->threads, sizeof(struct rt_thread *));
	CHECK(w.thread);
	for (u32 i = 0; i < model->nr_cpus; i++)
		for (u32 half = 0; half < 2; half++)
			if (!wind->partitions || i % 2 == half)
				w.half[half] |= 1ul << model->cpu[i].number;
	if (wind->partitions)
		CHECK(!rt_partition(w.rt, &w.half[0]) && !rt_partition(w.rt, &w.half[1]));
	for (u32 i = 0; i < wind->threads; i++)
		w.thread[i] = rt_thread_new(w.rt, model->cpu[i % model->nr_cpus].number,
					    levels[i % 8], &w.half[i % 2], act, &w);
	rt_check(w.rt, RT_CHECK_STATE);
	rt_run(w.rt);
	r.hash = w.hash;
	r.checks = rt_checks_made(w.rt);
	r.misplaced = rt_checks_misplaced(w.rt);
	r.stats = rt_stats(w.rt);
	rt_free(w.rt);
	free(w.thread);
	return r;
}
