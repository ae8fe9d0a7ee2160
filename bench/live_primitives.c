// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * N pinned threads repeat one operation as fast as they can.
 *
 * A turn has a warm-up and a window. The caller sleeps through both and changes the phase. A thread
 * reads the phase after each batch of operations, and reads the clock when it sees a change. So
 * each thread reads the clock twice, not twice per operation, and measures the time of exactly its
 * own operations. In the warm-up a thread doubles its batch until a batch takes a few microseconds.
 * Then the read of the phase, a hit in its own cache, is negligible.
 *
 * A thread does at least one batch in the window, however long that takes. Threads leave the window
 * up to one batch apart, which is little compared with a window of a thousand batches.
 * live_rounds.c makes the window longer if operations are slow.
 */
#include "live.h"
#include "sample.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define BATCH_NS     4000.0
#define MAX_BATCH    4096u
#define HOLD_SPINS   20000u /* some microseconds, to measure the duration of a spin */
#define HOLD_SAMPLES 5u
#define WARM_UP	     0.2 /* share of a turn */
/*
 * Lost time up to this counts as the thread's own: it may be timer ticks. A switch to another task
 * and back takes longer.
 */
#define LOST_SHARE 0.01
#define LOST_NS	   10e3

enum phase { WAIT, WARM, COUNT, STOP };

struct own {
	u64 ops, all_ops; /* operations in the window, and in total */
	u64 spins, spun;  /* additions of a hold time, and in total */
	double ns, lost;
} port_cacheline_aligned;

struct turn {
	u32 phase port_cacheline_aligned;
	u32 ready port_cacheline_aligned;
	const struct live *live;
	const struct live_point *point;
	void *state[LIVE_MAX_LINES];
	struct own *own;
};

/* An iteration is one addition, which needs the result of the previous addition. */
static void spin(u64 n)
{
	for (u64 i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(i));
}

static void hold(void *arg)
{
	struct own *own = arg;

	spin(own->spins);
	own->spun += own->spins;
}

static u64 spins_for(double ns)
{
	double best = 0;

	for (u32 i = 0; i < HOLD_SAMPLES; i++) {
		double start = sample_now_ns(), took;

		spin(HOLD_SPINS);
		took = sample_now_ns() - start;
		if (!i || took < best)
			best = took;
	}
	/* the shortest sample; independent of the time that reading the clock takes */
	return best > 0 && ns * HOLD_SPINS > best ? (u64)(ns * HOLD_SPINS / best + 0.5) : 1;
}

static enum phase phase_of(const struct turn *t)
{
	return READ_ONCE(t->phase);
}

/* Sometimes yield the CPU, in case a thread that has not arrived needs it. */
static void wait_for_others(struct turn *t)
{
	if (__atomic_add_fetch(&t->ready, 1, __ATOMIC_ACQ_REL) == t->point->nr)
		smp_store_release(&t->phase, WARM);
	for (u32 spins = 1; phase_of(t) == WAIT; spins++) {
		cpu_relax();
		if (spins % 65536 == 0)
			sched_yield();
	}
}

/* Do @n operations. With one object and nothing between operations, the primitive itself loops. */
static void operate(const struct turn *t, const struct primitive_thread *me, u64 between, u32 n)
{
	const struct primitive *p = t->point->primitive;

	if (t->live->lines == 1 && !between) {
		p->ops(t->state[0], me, n);
		return;
	}
	while (n--) {
		for (u32 i = 0; i < t->live->lines; i++)
			p->ops(t->state[i], me, 1);
		spin(between);
	}
}

static void work(u32 number, void *arg)
{
	struct turn *t = arg;
	struct own *own = &t->own[number];
	const struct primitive_thread me = { .number = number,
					     .cpu = t->live->cpu[number],
					     .hold = t->live->hold_ns > 0 ? hold : NULL,
					     .arg = own };
	struct crew_watch watch;
	u64 ops = 0, begun, between = 0;
	u32 batch = 1;

	if (me.hold)
		own->spins = spins_for(t->live->hold_ns);
	if (t->live->work_ns > 0)
		between = spins_for(t->live->work_ns);
	wait_for_others(t);
	while (phase_of(t) == WARM) {
		double start = sample_now_ns();

		operate(t, &me, between, batch);
		ops += batch;
		if (batch < MAX_BATCH && sample_now_ns() - start < BATCH_NS / 2)
			batch *= 2;
	}
	begun = ops;
	watch = crew_watch_start();
	do {
		operate(t, &me, between, batch);
		ops += batch;
	} while (phase_of(t) == COUNT);
	own->ns = sample_now_ns() - watch.wall;
	own->lost = crew_watch_lost(&watch);
	own->ops = ops - begun;
	own->all_ops = ops;
}

static void sleep_ns(double ns)
{
	struct timespec left = { .tv_sec = (time_t)(ns / 1e9) };

	left.tv_nsec = (long)(ns - (double)left.tv_sec * 1e9);
	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static void run(struct turn *t, double budget)
{
	crew_begin(t->live->crew, NULL, t->point->nr, work, t);
	while (phase_of(t) == WAIT)
		sleep_ns(20e3);
	sleep_ns(budget * WARM_UP);
	smp_store_release(&t->phase, COUNT);
	sleep_ns(budget * (1 - WARM_UP));
	smp_store_release(&t->phase, STOP);
	crew_end(t->live->crew);
}

static void sum_up(const struct turn *t, struct live_sample *sample)
{
	double rate = 0, fastest = 0, slowest = 0;

	*sample = (struct live_sample){ 0 };
	for (u32 i = 0; i < t->point->nr; i++) {
		const struct own *own = &t->own[i];
		double mine = (double)own->ops / own->ns;

		rate += mine;
		fastest = !i || mine > fastest ? mine : fastest;
		slowest = !i || mine < slowest ? mine : slowest;
		if (own->lost > own->ns * LOST_SHARE + LOST_NS)
			sample->disturbed = true;
	}
	sample->ns = t->point->nr / rate;
	sample->min = 1 / fastest;
	sample->max = 1 / slowest;
}

static bool create(struct turn *t, const struct primitive_place *place)
{
	const struct primitive *p = t->point->primitive;

	for (u32 i = 0; i < t->live->lines; i++) {
		t->state[i] = p->create(place);
		if (!t->state[i]) {
			while (i--)
				p->destroy(t->state[i]);
			return false;
		}
	}
	return true;
}

/* Destroy all objects. Return: did each have the result of its operations? */
static bool destroy_consistent(const struct turn *t, u64 ops)
{
	const struct primitive *p = t->point->primitive;
	bool right = true;

	for (u32 i = 0; i < t->live->lines; i++) {
		right = p->consistent(t->state[i], ops) && right;
		p->destroy(t->state[i]);
	}
	return right;
}

int live_primitive_turn(const struct live *live, struct live_point *point, double budget,
			struct live_sample *sample)
{
	const struct primitive *p = point->primitive;
	const struct primitive_place place = { .nr_threads = point->nr,
					       .home = live->node[0],
					       .node = live->node,
					       .plan = live->plan,
					       .pools = live->pools };
	struct turn turn = { .live = live, .point = point };
	bool consistent;
	u64 ops = 0;

	turn.own = aligned_alloc(PORT_CACHELINE, point->nr * sizeof(*turn.own));
	if (!turn.own || !create(&turn, &place)) {
		free(turn.own);
		return complain(1, "out of memory");
	}
	for (u32 i = 0; i < point->nr; i++)
		turn.own[i] = (struct own){ 0 };
	run(&turn, budget);
	for (u32 i = 0; i < point->nr; i++)
		ops += turn.own[i].all_ops;
	consistent = destroy_consistent(&turn, ops) && ops;
	/* a reader that has to retry holds again */
	for (u32 i = 0; i < point->nr; i++) {
		const struct own *own = &turn.own[i];

		consistent = consistent && own->spun >= own->spins * own->all_ops * live->lines;
		if (!point->spins || own->spins < point->spins)
			point->spins = own->spins;
	}
	if (consistent)
		sum_up(&turn, sample);
	free(turn.own);
	if (consistent)
		return 0;
	return complain(1, "%s on %u CPUs: the result of %llu operations is wrong", p->name,
			point->nr, (unsigned long long)ops);
}
