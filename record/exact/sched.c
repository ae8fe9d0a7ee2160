// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Decides which thread each CPU runs.
 *
 * A thread stays on its CPU. A new thread gets the CPU with the fewest threads, of those that it
 * may use. So a new thread shares a CPU only if each CPU that it may use has a thread. Threads of
 * one CPU take turns. A thread that waits leaves the CPU at once; otherwise its turn ends after
 * EXACT_SLICE. A switch takes EXACT_CHANGE cycles and does not change the caches.
 *
 * A thread that another thread binds to other CPUs goes there at once if it waits. Otherwise it
 * goes when it next lets others catch up.
 *
 * A thread's instructions are counted in exact_ran. sched_work() adds them to the CPU's clock
 * before anything that another thread can see.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "away.h"
#include "cancel.h"
#include "exact.h"
#include "lines.h"
#include "rseq.h"
#include "sim.h"
#include "sim_threads.h"
#include "spin.h"

_Thread_local struct thread *exact_self;
_Thread_local uint32_t exact_free, exact_near;

static struct queue {
	struct thread *running, *first, **last;
	uint32_t threads;
	uint64_t idle, instructions;
	struct {
		uint64_t clock, idle, instructions;
	} before; /* the second thread started */
} cpu[FEED_MAX_CPUS];
static uint64_t executed; /* instructions of all CPUs */
static uint64_t second;	  /* when the second thread started */

static void init(struct queue *q)
{
	if (!q->last)
		q->last = &q->first;
}

static void append(struct queue *q, struct thread *t)
{
	init(q);
	t->next = NULL;
	*q->last = t;
	q->last = &t->next;
}

static struct thread *take(struct queue *q)
{
	struct thread *t = q->first;

	if (!t)
		return NULL;
	q->first = t->next;
	if (!q->first)
		q->last = &q->first;
	return t;
}

void sched_start(struct thread *t)
{
	t->cpu = 0;
	cpu[0].threads = 1;
	cpu[0].running = t;
}

static bool allowed(const uint64_t *mask, uint32_t words, uint32_t n)
{
	uint32_t number = exact_cpu(n);

	return !mask || (number / 64 < words && mask[number / 64] >> number % 64 & 1);
}

static uint32_t emptiest(const uint64_t *mask, uint32_t words)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t n = 0; n < exact.watch.setup.nr_cpus; n++)
		if (allowed(mask, words, n) &&
		    (best == UINT32_MAX || cpu[n].threads < cpu[best].threads))
			best = n;
	return best;
}

static uint32_t best_for(const struct thread *t)
{
	return emptiest(t->allowed_words ? t->allowed : NULL, t->allowed_words);
}

int sched_bind(struct thread *t, const uint64_t *mask, uint32_t words)
{
	if (words > THREAD_MASK)
		words = THREAD_MASK;
	if (emptiest(mask, words) == UINT32_MAX)
		return EINVAL;
	memcpy(t->allowed, mask, words * sizeof(*mask));
	t->allowed_words = words;
	return 0;
}

void sched_place(struct thread *t)
{
	t->cpu = best_for(t);
	cpu[t->cpu].threads++;
}

uint64_t sched_time(void)
{
	sched_work(0);
	return sim_now();
}

static uint32_t up_to(uint32_t *most, uint32_t n)
{
	uint32_t part = *most < n ? *most : n;

	*most -= part;
	return part;
}

void sched_work(uint32_t instructions)
{
	uint32_t n = exact_ran + instructions, near;

	if (away_since > 1)
		away_stay();
	if (!(n | exact_cycles))
		return;
	cpu[exact_self->cpu].instructions += n;
	executed += n;
	n -= up_to(&exact_free, n);
	near = up_to(&exact_near, n);
	sim_spend((n - near + exact_cycles) * exact.ps + near * exact.ps / FEED_WIDTH);
	exact_ran = exact_cycles = 0;
}

uint64_t sched_executed(void)
{
	return executed + exact_ran;
}

void sched_cycles(uint32_t cycles)
{
	exact_cycles += cycles;
	sched_work(0);
}

void sched_catch_up(void)
{
	struct thread *self = exact_self;

	sched_work(0);
	spin_event(NULL);
	sim_catch_up();
	sched_settle();
	if (self->cancelled && self->cancel_soon)
		cancel_test();
	if (cpu[self->cpu].first && sim_now() >= self->slice)
		sched_yield_cpu();
	exact_signals();
}

/* Switch the CPU to its next thread. The caller's thread is in a queue already, or in none. */
static void change(struct queue *q, struct thread *next)
{
	q->running = next;
	if (!next) {
		sim_idle();
		return;
	}
	sim_spend(EXACT_CHANGE * exact.ps);
	next->slice = sim_now() + EXACT_SLICE;
	sim_change(&next->fiber);
}

void sched_block(void)
{
	struct queue *q = &cpu[exact_self->cpu];

	sched_work(0);
	change(q, take(q));
	sched_settle();
}

void sched_yield_cpu(void)
{
	struct queue *q;
	struct thread *next;

	sched_work(0);
	sim_catch_up();
	sched_settle();
	q = &cpu[exact_self->cpu];
	next = take(q);
	if (!next)
		return;
	append(q, exact_self);
	change(q, next);
	sched_settle();
}

void sched_wake(struct thread *t, uint64_t at)
{
	struct queue *q = &cpu[t->cpu];
	uint64_t was = sim_clock_of(t->cpu);

	if (q->running) {
		append(q, t);
		return;
	}
	q->running = t;
	t->slice = (at > was ? at : was) + EXACT_SLICE;
	sim_run_fiber(t->cpu, &t->fiber, at);
	q->idle += sim_clock_of(t->cpu) - was;
}

void sched_leave(void)
{
	struct queue *q = &cpu[exact_self->cpu];

	sched_work(0);
	q->threads--;
	change(q, take(q));
}

static void moves(struct thread *t, uint32_t to)
{
	cpu[t->cpu].threads--;
	cpu[to].threads++;
	t->cpu = to;
}

static bool is_queued(const struct queue *q, const struct thread *t)
{
	const struct thread *each = q->first;

	while (each && each != t)
		each = each->next;
	return each;
}

void sched_settle(void)
{
	struct thread *self = exact_self;
	struct queue *from;

	while (self->moved) {
		self->moved = false;
		if (!allowed(self->allowed, self->allowed_words, self->cpu)) {
			sched_work(0);
			/* The thread's stores become visible before it moves. */
			sim_fence(__ATOMIC_SEQ_CST, NULL);
			from = &cpu[self->cpu];
			moves(self, best_for(self));
			sched_wake(self, sim_now());
			change(from, take(from));
		}
		lines_thread(self->cpu);
		rseq_thread();
	}
}

int sched_move(struct thread *t, const uint64_t *mask, uint32_t words)
{
	int error = sched_bind(t, mask, words);
	const struct queue *q = &cpu[t->cpu];

	if (error || t->ended || allowed(t->allowed, t->allowed_words, t->cpu))
		return error;
	t->moved = true;
	if (t == exact_self)
		sched_settle();
	else if (q->running != t && !is_queued(q, t))
		moves(t, best_for(t));
	return 0;
}

uint64_t sched_busy(void)
{
	uint64_t sum = 0;

	sched_work(0);
	for (uint32_t n = 0; n < exact.watch.setup.nr_cpus; n++)
		sum += sim_clock_of(n) - cpu[n].idle;
	return sum;
}

void sched_second(void)
{
	sched_work(0);
	for (uint32_t n = 0; n < exact.watch.setup.nr_cpus; n++) {
		cpu[n].before.clock = sim_clock_of(n);
		cpu[n].before.idle = cpu[n].idle;
		cpu[n].before.instructions = cpu[n].instructions;
	}
	second = sim_now();
}

uint64_t sched_cpu_time(uint32_t n, uint64_t *busy, uint64_t *idle, uint64_t *instructions)
{
	const struct queue *q = &cpu[n];
	uint64_t clock = sim_clock_of(n);

	*idle = q->idle - q->before.idle;
	*busy = clock - q->before.clock - *idle;
	*instructions = q->instructions - q->before.instructions;
	return clock > second ? clock - second : 0;
}
