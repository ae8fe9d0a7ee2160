// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Performs random operations. The checker decides what is right, and the result shows that the
 * checker ran. A thread has its own channel and sends to those of others. It waits for a message
 * only if another thread is about to send it one, and sends only where few messages wait. Otherwise
 * the storm would die down.
 */
#include "cases.h"

#include <stdlib.h>

#include "model.h"
#include "sim.h"
#include "toy.h"

const struct fair_costs toy_costs = {
	.syscall = 100000,
	.message = 500000,
	.schedule = 100000,
	.context_switch = 200000,
	.queue = 50000,
	.wake = 100000,
	.fork = 1000000,
	.look = 10000,
	.ipi_send = 100000,
	.ipi_travel = 500000,
	.irq = 200000,
	.idle_exit = 300000,
	.tick = 500000,
	.tick_period = 100000000,
	.slice = 300000000,
	.migration = 50000000,
};

#define US 1000000ull

struct weather {
	struct fair *fair;
	struct gust *gust;
	u32 n, forked;
	u64 until, hash;
	struct storm_result *result;
};

struct gust {
	struct weather *w;
	struct fair_thread *thread;
	struct fair_channel *in;
	u64 owed;   /* messages sent to it */
	s64 to;	    /* the receiver of its current message, -1: none */
	bool waits; /* for a message */
};

static void note(struct weather *w, u64 what)
{
	w->hash = (w->hash ^ (sim_now() + what)) * 0x9e3779b97f4a7c15ull;
}

static bool finish(struct fair_cpu *me, struct gust *g)
{
	if (g->to < 0)
		return true;
	if (!fair_send(me, g->w->gust[g->to].in))
		return false;
	g->to = -1;
	return true;
}

static bool receive(struct fair_cpu *me, struct gust *g)
{
	if (!g->waits)
		return true;
	if (!fair_receive(me, g->in))
		return false;
	g->waits = false;
	return true;
}

static void blow(struct fair_cpu *me, struct fair_thread *t)
{
	struct gust *g = t->arg;
	struct weather *w = g->w;
	/* Sometimes much work, sometimes little. */
	u64 calm = sim_now() / (2000 * US) % 2 ? 40 : 1;

	note(w, t->id);
	if (!finish(me, g) || !receive(me, g))
		return;
	switch (sim_random() % 8) {
	case 0:
	case 1:
		fair_sleep_until(me, sim_now() + sim_random() % (50 * calm * US));
		return;
	case 2:
	case 3:
	case 4:
		g->to = (s64)(sim_random() % w->n);
		if (w->gust[g->to].owed == 3)
			g->to = -1;
		else
			w->gust[g->to].owed++;
		if (!finish(me, g))
			return;
		break;
	default:
		if (!g->owed)
			break;
		g->owed--;
		g->waits = true;
		if (!receive(me, g))
			return;
	}
	t->left = 1 + sim_random() % (60 * US);
}

static void sky(struct fair_cpu *me, struct fair_thread *t)
{
	struct weather *w = t->arg;

	if (w->forked < w->n) {
		fair_fork(me, w->gust[w->forked++].thread);
		t->left = US;
	} else if (sim_now() < w->until) {
		fair_sleep_until(me, w->until);
	} else {
		w->result->stats = fair_stats(me);
		fair_stop(me);
		fair_exit(me);
	}
}

struct storm_result storm(const struct model *model, const struct idle_ops *ops, u32 threads,
			  u64 us)
{
	struct storm_result r = { 0 };
	struct weather w = { .n = threads, .until = us * US, .result = &r };

	w.fair = fair_create(model, ops, &toy_costs, 0);
	CHECK(w.fair);
	w.gust = calloc(threads, sizeof(*w.gust));
	CHECK(w.gust);
	for (u32 i = 0; i < threads; i++) {
		struct gust *g = &w.gust[i];

		g->w = &w;
		g->to = -1;
		g->in = fair_channel_new(w.fair, i % model->nr_cpus, 4, threads);
		g->thread = fair_thread_new(w.fair, blow, g);
	}
	fair_check(w.fair);
	fair_run(w.fair, fair_thread_new(w.fair, sky, &w));
	r.hash = w.hash;
	r.checks = fair_checks_made(w.fair);
	for (u32 i = 0; i < threads; i++)
		fair_channel_free(w.gust[i].in);
	free(w.gust);
	fair_free(w.fair);
	return r;
}
