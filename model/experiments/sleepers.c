// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads start at random moments of the first interval, as a real program creates its threads one
 * after the other. The timer and the wake-up are on the CPU where the thread went to sleep.
 */
#include "sleepers.h"

#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "rt/private.h"

struct bed {
	const struct sleepers *s;
	struct rt_phase phase;
	u64 *late, sum, turns;
	u32 n, cap;
};

struct sleeper {
	struct bed *bed;
	u64 due;
	enum { ARRIVE, AWAKE, TIRED } at;
};

static void note(struct bed *b, u64 late)
{
	b->late = grown(b->late, b->n, &b->cap, sizeof(*b->late));
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
		if (rt_body_phase(me, &b->phase))
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

#define TURN 2000000 /* 2 us */

static void spin(struct rt_cpu *me, struct rt_thread *t)
{
	struct bed *b = t->arg;

	if (rt_body_phase(me, &b->phase))
		b->turns++;
	t->left = TURN;
}

static int by_value(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * Return the CPUs in the order of the groups, @size CPUs per group; without groups all CPUs are one
 * group.
 */
static u32 *grouped(const struct sleepers *s, u32 *size, u32 *groups)
{
	u32 n = s->run->model->nr_cpus, *cpus;

	*size = s->group;
	if (s->group)
		return rt_body_groups(s->run, size, groups);
	cpus = calloc(n, sizeof(*cpus));
	if (!cpus)
		abort();
	for (u32 i = 0; i < n; i++)
		cpus[i] = s->run->model->cpu[i].number;
	*size = n;
	*groups = 1;
	return cpus;
}

/* Make one thread per CPU of the full groups. */
static int lie_down(struct bed *b, struct rt *rt, struct sleeper *sleeper)
{
	const struct sleepers *s = b->s;
	u32 words = (s->run->machine->topo.nr_cpus + 63) / 64, size, groups;
	u32 *cpus = grouped(s, &size, &groups);
	unsigned long *allowed = calloc(words, sizeof(*allowed));
	int failed = 0;

	if (!allowed)
		abort();
	for (u32 g = 0; g < groups && !failed; g++) {
		memset(allowed, 0, words * sizeof(*allowed));
		for (u32 i = g * size; i < (g + 1) * size; i++)
			allowed[cpus[i] / 64] |= 1ul << (cpus[i] % 64);
		if (!strcmp(s->run->variant, "partition"))
			failed = rt_partition(rt, allowed);
		for (u32 i = g * size; i < (g + 1) * size; i++) {
			int down = s->levels > 1 ? (int)(i % (u32)s->levels) : 0;

			sleeper[i].bed = b;
			rt_thread_new(rt, cpus[i], s->level - down, allowed, cycle, &sleeper[i]);
		}
	}
	memset(allowed, 0, words * sizeof(*allowed));
	for (u32 i = 0; i < 2; i++)
		allowed[cpus[i] / 64] |= 1ul << (cpus[i] % 64);
	for (u32 i = 0; i < s->spinners && !failed; i++)
		rt_thread_new(rt, cpus[i % 2], 1, allowed, spin, b);
	free(allowed);
	free(cpus);
	return failed;
}

int sleepers_run(const struct sleepers *s, struct sleepers_result *result)
{
	struct bed bed = { .s = s, .phase = rt_body_phases(s->run) };
	struct rt *rt = rt_body_create(s->run);
	struct sleeper *sleeper;

	if (!rt)
		return -1;
	sleeper = calloc(s->run->model->nr_cpus, sizeof(*sleeper));
	if (!sleeper)
		abort();
	if (lie_down(&bed, rt, sleeper)) {
		rt_free(rt);
		free(sleeper);
		return run_fail(s->run, "out of memory");
	}
	s->run->simulated = rt_run(rt);
	if (bed.n)
		qsort(bed.late, bed.n, sizeof(*bed.late), by_value);
	*result = (struct sleepers_result){
		.cycles = bed.n,
		.late = bed.late,
		.seconds = (double)(bed.phase.end - bed.phase.begin) * 1e-12,
		.mean = bed.n ? (double)bed.sum / (double)bed.n : 0,
		.spun = (double)bed.turns * TURN / 2 / (double)(bed.phase.end - bed.phase.begin),
	};
	rt_body_report(s->run, rt, &bed.phase);
	rt_free(rt);
	free(sleeper);
	return bed.n ? 0 : run_fail(s->run, "no cycle was measured: measured_us is too short");
}
