// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Source-DPOR with sleep sets (after Abdulla, Aronis, Jonsson, Sagonas: "Optimal dynamic partial
 * order reduction", POPL 2014). Each store buffer is a separate process.
 *
 * Why the search misses no outcome. Two steps are independent if, in every state that enables both,
 * either order leads to the same state and neither disables the other. This machine has few
 * dependent pairs:
 *
 *  - steps of different CPUs that reach overlapping memory, at least one of them writing. The steps
 *    that reach memory are a load, a locked operation, an unbuffered store and a flush. A buffered
 *    store touches only its own CPU's buffer, and a fence touches nothing.
 *  - steps of one program, and flushes of one buffer: always in order.
 *  - a buffered store and its flush, a flush and the operation of its own CPU that waits for it:
 *    the first enables the second. They have this order in every execution, so there is
 *    nothing to reverse.
 *
 * In particular a program's load and the flush of its own buffer commute, whether or not the
 * address is the same. Before the flush the load finds the newest own store in the buffer. After
 * the flush it finds the same bytes in memory, or a newer store in the buffer. A load counts as
 * reaching memory even when its value comes from the buffer. A failed compare-and-exchange counts
 * as a write. Such extra dependences cost executions, but lose none. No step disables another
 * process, so an enabled process stays enabled until it moves, as the algorithm requires.
 *
 * Executions that differ only in the order of independent steps are equivalent: each program sees
 * the same values in each. A race is a pair of dependent steps that are adjacent in the
 * happens-before order. For every race the search goes back to the state before the first step.
 * There it also tries a process that leads to an execution with the second step first
 * (add_backtrack()). This makes the set of tried processes a source set. Sleep sets contain
 * processes whose next step would only repeat an earlier branch, until a dependent step wakes them.
 *
 * A step that touches nothing shared is independent of every step of every other process, now and
 * later. So this step alone is a source set: the search takes it at once and never branches there.
 *
 * A data race is such a pair in which a step is a non-atomic access. No other steps order the two
 * accesses, only the schedule did. So in some execution they are adjacent, and the search finds it.
 *
 * Vector clocks represent happens-before, one entry per process. Only the steps after the last
 * branch are new in an execution. For the steps before it the search repeats the operations and
 * reuses the clocks.
 */
#include "explore_search.h"

#include <stdlib.h>
#include <string.h>

struct frame {
	struct x_event ev;
	uint16_t clock[X_NR_PROCS]; /* by process: its steps that happened before, or this one */
	uint16_t nth;		    /* number of this step in its process, from 1 */
	uint8_t sleep;		    /* processes that this frame need not try */
	uint8_t backtrack; /* processes that this frame must try, including those already tried */
};

static struct frame frames[X_MAX_STEPS + 1];
static struct x_event events[X_MAX_STEPS];

/* Position in frames[] of the nth (from 1) step of a process. */
static uint16_t step_at[X_NR_PROCS][X_MAX_STEPS + 1];
static uint16_t taken[X_NR_PROCS]; /* by process: steps so far */

/* Position in frames[] of the step that put the nth (from 1) store into a CPU's buffer. */
static uint16_t entry_of[EXPLORE_MAX_CPUS][2 * X_MAX_STEPS + 1];
static uint16_t entered[EXPLORE_MAX_CPUS];

static uint16_t races[X_MAX_STEPS]; /* first steps of the races that end with a step */

static bool before(const struct frame *a, const struct frame *b)
{
	return b->clock[a->ev.proc] >= a->nth;
}

static void join(struct frame *f, const struct frame *earlier)
{
	for (unsigned int p = 0; p < X_NR_PROCS; p++) {
		if (earlier->clock[p] > f->clock[p])
			f->clock[p] = earlier->clock[p];
	}
}

/*
 * Handle the race of frames[j] and frames[n]. Let v be frames[n] and the steps after frames[j] that
 * do not depend on frames[j]. Each initial of v (a process that can come first) leads to the
 * reversed race. The search must try at least one initial in place of frames[j].
 */
static void add_backtrack(uint32_t j, uint32_t n)
{
	uint16_t first[X_NR_PROCS] = { 0 };
	uint8_t initials = 0;

	for (uint32_t k = j + 1; k <= n; k++) {
		const struct frame *f = &frames[k];
		unsigned int p = f->ev.proc;
		bool is_initial = true;

		if (first[p] || (k < n && before(&frames[j], f)))
			continue;
		first[p] = f->nth;
		for (unsigned int q = 0; q < X_NR_PROCS; q++) {
			if (q != p && first[q] && f->clock[q] >= first[q])
				is_initial = false;
		}
		if (is_initial)
			initials |= 1u << p;
	}
	if (initials & frames[j].backtrack)
		return;
	if (initials >> frames[n].ev.proc & 1)
		frames[j].backtrack |= 1u << frames[n].ev.proc;
	else
		frames[j].backtrack |= initials & -initials;
}

/* Enter frames[n] into the tables, so that later steps find it. */
static void count_step(uint32_t n)
{
	const struct x_event *ev = &frames[n].ev;
	unsigned int p = ev->proc;

	step_at[p][++taken[p]] = (uint16_t)n;
	if (ev->buffered) {
		for (uint32_t at = 0; at < ev->size; at += 8)
			entry_of[p][++entered[p]] = (uint16_t)n;
	}
}

/* Compute the clock of frames[n], the step just taken, and the races that end with it. */
static void place(uint32_t n)
{
	struct frame *f = &frames[n];
	const struct x_event *ev = &f->ev;
	unsigned int p = ev->proc, cpu = X_CPU(p);
	uint32_t nr_races = 0;

	memset(f->clock, 0, sizeof(f->clock));
	if (taken[p])
		join(f, &frames[step_at[p][taken[p]]]);
	f->nth = taken[p] + 1;
	f->clock[p] = f->nth;
	if (X_IS_BUFFER(p))
		join(f, &frames[entry_of[cpu][f->nth]]);
	else if (ev->after)
		join(f, &frames[step_at[X_BUFFER(cpu)][ev->after]]);
	count_step(n);
	if (ev->touch == X_TOUCH_NONE)
		return;
	/* Latest first: a step that happens before a later one of these is not in a race. */
	for (uint32_t j = n; j-- > 0;) {
		const struct x_event *old = &frames[j].ev;

		if (X_CPU(old->proc) == cpu || before(&frames[j], f) ||
		    !x_touches_conflict(old->addr, old->size, old->touch, ev->addr, ev->size,
					ev->touch))
			continue;
		join(f, &frames[j]);
		races[nr_races++] = (uint16_t)j;
		if (old->plain || ev->plain)
			x_fail_race(ev->addr, X_CPU(old->proc), cpu);
	}
	for (uint32_t i = 0; i < nr_races; i++)
		add_backtrack(races[i], n);
}

/* The processes in @sleep that are still asleep after the next step of @p. */
static uint8_t still_asleep(uint8_t sleep, unsigned int p)
{
	const struct x_op *op = x_pending(p);
	uint64_t addr = op->addr;
	uint32_t size = op->size;
	enum x_touch touch = x_op_touch(op);
	uint8_t left = 0;

	for (unsigned int q = 0; q < X_NR_PROCS; q++) {
		const struct x_op *other;

		if (!(sleep >> q & 1) || q == p)
			continue;
		other = x_pending(q);
		if (X_CPU(q) == X_CPU(p) || !x_touches_conflict(addr, size, touch, other->addr,
								other->size, x_op_touch(other)))
			left |= 1u << q;
	}
	return left;
}

/* Choose a process: the CPU that moved last continues, which keeps preemptions few. */
static unsigned int pick(uint32_t from, uint32_t n)
{
	unsigned int last = n ? frames[n - 1].ev.proc : 0;

	if (from >> X_CPU(last) & 1)
		return X_CPU(last);
	if (from >> X_BUFFER(X_CPU(last)) & 1)
		return X_BUFFER(X_CPU(last));
	return (unsigned int)__builtin_ctz(from);
}

/* Repeat the steps that led to frames[n]. */
static void replay(uint32_t n, struct x_stats *s)
{
	x_machine_reset();
	memset(taken, 0, sizeof(taken));
	memset(entered, 0, sizeof(entered));
	for (uint32_t i = 0; i < n; i++) {
		x_step(frames[i].ev.proc, 0, &frames[i].ev);
		count_step(i);
	}
	s->transitions += n;
}

static void copy_events(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		events[i] = frames[i].ev;
}

/*
 * Run from frames[n] to the end, or until all processes left are asleep.
 * @forced: process to take at frames[n], -1: choose as for the other frames
 * Return: the number of steps, all frames included.
 */
static uint32_t run_to_end(uint32_t n, int forced, struct x_stats *s)
{
	for (;; n++) {
		struct frame *f = &frames[n];
		uint32_t enabled = x_enabled();
		unsigned int p;

		if (!enabled || n == X_MAX_STEPS)
			break;
		if (forced >= 0) {
			p = (unsigned int)forced;
			forced = -1;
		} else {
			int local = x_local_step(enabled);

			if (local < 0 && !(enabled & ~f->sleep)) {
				copy_events(n);
				x_note_cut(s, events, n);
				return n;
			}
			p = local >= 0 ? (unsigned int)local : pick(enabled & ~f->sleep, n);
			f->backtrack = 1u << p;
		}
		frames[n + 1].sleep = still_asleep(f->sleep, p);
		x_step(p, 0, &f->ev);
		s->transitions++;
		place(n);
	}
	if (n == X_MAX_STEPS)
		x_fail_at(-1, "no end after the greatest number of steps: a loop that waits?");
	else
		x_final_check();
	copy_events(n);
	x_note_end(s, events, n);
	return n;
}

void x_search_dpor(const struct x_options *o, struct x_stats *s)
{
	uint32_t n = 0;
	int forced = -1;

	frames[0].sleep = 0;
	for (;;) {
		replay(n, s);
		n = run_to_end(n, forced, s);
		/* Deepest frame with a process left to try. */
		for (forced = -1; forced < 0;) {
			struct frame *f;
			uint8_t todo;

			if (!n) {
				s->complete = true;
				return;
			}
			f = &frames[--n];
			f->sleep |= 1u << f->ev.proc;
			todo = f->backtrack & (uint8_t)~f->sleep;
			if (todo)
				forced = __builtin_ctz(todo);
		}
		if (o->max_executions && s->executions >= o->max_executions)
			return;
	}
}
