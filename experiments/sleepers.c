// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads start at random moments of the first interval, as those of a real program are
 * created one after the other. A timer belongs to the CPU on which its thread went to
 * sleep; the wake-up starts there.
 */
#include "sleepers.h"

#include <stdlib.h>
#include <string.h>

#include "machine.h"

struct bed {
	const struct sleepers *s;
	struct rt_phase phase;
	u64 *late, n, cap, sum;
};

struct sleeper {
	struct bed *bed;
	u64 due;
	enum { ARRIVE, AWAKE, TIRED } at;
};

static void note(struct bed *b, u64 late)
{
	if (b->n == b->cap) {
		b->cap = b->cap ? 2 * b->cap : 4096;
		b->late = realloc(b->late, b->cap * sizeof(*b->late));
		if (!b->late)
			abort();
	}
	b->late[b->n++] = late;
	b->sum += late;
}

static void cycle(struct rt_cpu *me, struct rt_thread *t)
{
	struct sleeper *self = t->arg;
	struct bed *b = self->bed;

	switch (self->at) {
	case ARRIVE:
		self->due = sim_now() + sim_random() % b->s->interval;
		break;
	case AWAKE:
		if (rt_run_phase(me, &b->phase))
			note(b, sim_now() - self->due);
		self->at = TIRED;
		t->left = b->s->work;
		return;
	case TIRED:
		self->due = (b->s->absolute ? self->due : sim_now()) + b->s->interval;
		break;
	}
	self->at = AWAKE;
	rt_sleep_until(me, self->due);
}

static int by_value(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int sleepers_run(const struct sleepers *s, struct sleepers_result *result)
{
	u32 n = s->run->model->nr_cpus, words = (s->run->machine->topo.nr_cpus + 63) / 64;
	struct bed bed = { .s = s, .phase = rt_run_phases(s->run) };
	struct rt *rt = rt_run_create(s->run);
	struct sleeper *sleeper;
	unsigned long *all;

	if (!rt)
		return -1;
	sleeper = calloc(n, sizeof(*sleeper));
	all = calloc(words, sizeof(*all));
	if (!sleeper || !all)
		abort();
	for (u32 i = 0; i < n; i++)
		all[s->run->model->cpu[i].number / 64] |= 1ul
							  << (s->run->model->cpu[i].number % 64);
	for (u32 i = 0; i < n; i++) {
		sleeper[i].bed = &bed;
		rt_thread_new(rt, s->run->model->cpu[i].number, s->level, all, cycle, &sleeper[i]);
	}
	s->run->simulated = rt_run(rt);
	qsort(bed.late, bed.n, sizeof(*bed.late), by_value);
	*result = (struct sleepers_result){
		.cycles = bed.n,
		.late = bed.late,
		.seconds = (double)(bed.phase.end - bed.phase.begin) * 1e-12,
		.mean = bed.n ? (double)bed.sum / (double)bed.n : 0,
	};
	rt_run_report(s->run, rt, &bed.phase);
	rt_free(rt);
	free(sleeper);
	free(all);
	return bed.n ? 0 : run_fail(s->run, "no cycle was measured: measured_us is too short");
}
