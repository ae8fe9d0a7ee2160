// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Searches depth-first over states, or, without the table of states, over all executions.
 *
 * Why it misses nothing: what can happen after a state depends only on the state. A state is
 * memory, the store buffers and the position of each program. Programs have no input but the
 * answers to their operations. So the sequence of answers determines where a program is and what
 * its variables hold. Two states count as equal if they have equal hashes of these sequences, of
 * the numbers of buffered stores and of memory. The hash has 128 bits: the probability that two
 * different states share a hash is below 10^-23 for the 10^7 states that fit the table. The search
 * does not continue from a state that it reached before: the first visit finds, or is still
 * finding, its results. No state can reach itself, since each step lengthens a sequence or shortens
 * a buffer.
 *
 * A step that touches nothing shared is independent of every step of every other process, now and
 * later. So the search takes it at once and never branches there.
 *
 * If an operation has several alternatives, each is a separate step.
 *
 * With a bound, a switch from a program that has not ended to another CPU's program costs one
 * preemption. So does a load that returns an old value; flushes are free. What can happen then also
 * depends on the CPU that moved last and on the preemptions left. That CPU is part of the hash. The
 * preemptions left are stored beside it, and a state that is reached with more of them left is
 * searched again.
 */
#include "explore_search.h"

#include <stdlib.h>
#include <string.h>

#define NO_CPU	   EXPLORE_MAX_CPUS
#define MAX_STATES (8u << 20)

struct frame {
	uint32_t left; /* preemptions left */
	uint8_t todo;  /* processes not yet tried */
	uint8_t cpu;   /* the CPU whose program moved last, or NO_CPU */
	uint8_t alt;   /* next alternative of the process being tried */
};

struct entry {
	uint64_t lo, hi;
};

static struct frame frames[X_MAX_STEPS + 1];
static struct x_event events[X_MAX_STEPS];

static struct entry *table;
static uint32_t *table_left; /* preemptions left when the state was reached, plus 1; 0: free */
static uint64_t table_size, table_used;

static void table_grow(void)
{
	struct entry *old = table;
	uint32_t *old_left = table_left;
	uint64_t old_size = table_size;

	table_size = old_size ? 2 * old_size : 1u << 16;
	table = calloc(table_size, sizeof(*table));
	table_left = calloc(table_size, sizeof(*table_left));
	if (!table || !table_left)
		abort();
	for (uint64_t i = 0; i < old_size; i++) {
		uint64_t at = old[i].lo & (table_size - 1);

		if (!old_left[i])
			continue;
		while (table_left[at])
			at = (at + 1) & (table_size - 1);
		table[at] = old[i];
		table_left[at] = old_left[i];
	}
	free(old);
	free(old_left);
}

static void table_free(void)
{
	free(table);
	free(table_left);
	table = NULL;
	table_left = NULL;
	table_size = 0;
	table_used = 0;
}

/* Is the state new, or reached with more preemptions left than ever before? */
static bool is_news(struct x_hash h, uint32_t left)
{
	uint64_t at;

	if (2 * table_used >= table_size)
		table_grow();
	for (at = h.lo & (table_size - 1); table_left[at]; at = (at + 1) & (table_size - 1)) {
		if (table[at].lo != h.lo || table[at].hi != h.hi)
			continue;
		if (left < table_left[at])
			return false;
		table_left[at] = left + 1;
		return true;
	}
	table[at] = (struct entry){ h.lo, h.hi };
	table_left[at] = left + 1;
	table_used++;
	return true;
}

/* Check whether two processes are about to access the same memory, not both atomically. */
static void check_races(uint32_t enabled)
{
	uint32_t plain = 0;

	for (unsigned int p = 0; p < X_NR_PROCS; p++) {
		if ((enabled >> p & 1) && x_pending(p)->plain)
			plain |= 1u << p;
	}
	for (; plain; plain &= plain - 1) {
		unsigned int p = (unsigned int)__builtin_ctz(plain);
		const struct x_op *a = x_pending(p);

		for (unsigned int q = 0; q < X_NR_PROCS; q++) {
			const struct x_op *b = x_pending(q);

			if ((enabled >> q & 1) && X_CPU(q) != X_CPU(p) &&
			    x_touches_conflict(a->addr, a->size, x_op_touch(a), b->addr, b->size,
					       x_op_touch(b)))
				x_fail_race(a->addr, X_CPU(p), X_CPU(q));
		}
	}
}

/* The preemptions that a step of @p costs if @cpu's program moved last. */
static uint32_t cost(unsigned int p, unsigned int cpu)
{
	return !X_IS_BUFFER(p) && cpu != NO_CPU && p != cpu && (x_unfinished() >> cpu & 1);
}

/* Take one step from frames[n]. Fill in frames[n + 1] except for its processes to try. */
static void take(uint32_t n, unsigned int p, uint32_t alt, struct x_stats *s)
{
	struct frame *f = &frames[n], *next = &frames[n + 1];
	bool local = x_op_touch(x_pending(p)) == X_TOUCH_NONE;

	next->left = f->left;
	next->cpu = f->cpu;
	if (!local && !X_IS_BUFFER(p)) {
		if (f->left != X_NO_BOUND)
			next->left -= cost(p, f->cpu);
		next->cpu = (uint8_t)p;
	}
	if (f->left != X_NO_BOUND)
		next->left -= alt > 0;
	next->alt = 0;
	x_step(p, alt, &events[n]);
	s->transitions++;
}

/* The processes to try at frames[n]; none if the execution is over or the state is known. */
static uint8_t choices(uint32_t n, const struct x_options *o, struct x_stats *s)
{
	struct frame *f = &frames[n];
	uint32_t enabled = x_enabled();
	struct x_hash h;
	int local;

	if (n == X_MAX_STEPS) {
		x_fail_at(-1, "no end after the greatest number of steps: a loop that waits?");
		x_note_end(s, events, n);
		return 0;
	}
	if (!enabled) {
		x_final_check();
		x_note_end(s, events, n);
		return 0;
	}
	local = x_local_step(enabled);
	if (local >= 0)
		return (uint8_t)(1u << local);
	check_races(enabled);
	if (o->search == X_SEARCH_STATES) {
		h = x_state_hash();
		if (f->left != X_NO_BOUND)
			h.lo += f->cpu;
		if (!is_news(h, f->left == X_NO_BOUND ? 0 : f->left)) {
			x_note_cut(s, events, n);
			return 0;
		}
	}
	if (f->left != X_NO_BOUND) {
		for (unsigned int p = 0; p < EXPLORE_MAX_CPUS; p++) {
			if ((enabled >> p & 1) && cost(p, f->cpu) > f->left)
				enabled &= ~(1u << p);
		}
	}
	return (uint8_t)enabled;
}

/*
 * Choose a process: the CPU that moved last continues first, so executions with few switches come
 * early.
 */
static unsigned int pick(const struct frame *f)
{
	if (f->cpu != NO_CPU && (f->todo >> f->cpu & 1))
		return f->cpu;
	return (unsigned int)__builtin_ctz(f->todo);
}

/* Advance to the process's next alternative at @f. Return: false if there is none. */
static bool next_way(struct frame *f, unsigned int p)
{
	if (++f->alt >= x_alternatives(p))
		return false;
	return f->left == X_NO_BOUND || (X_IS_BUFFER(p) ? 0 : cost(p, f->cpu)) + 1 <= f->left;
}

void x_search_states(const struct x_options *o, struct x_stats *s)
{
	uint32_t n = 0;

	table_free();
	x_machine_reset();
	frames[0] = (struct frame){ .left = o->preemptions, .cpu = NO_CPU };
	frames[0].todo = choices(0, o, s);
	for (;;) {
		/* Down: to the end, or to a state seen before. */
		while (frames[n].todo) {
			unsigned int p = pick(&frames[n]);
			uint32_t alt = frames[n].alt;

			if (!next_way(&frames[n], p)) {
				frames[n].todo &= (uint8_t) ~(1u << p);
				frames[n].alt = 0;
			}
			take(n, p, alt, s);
			n++;
			frames[n].todo = choices(n, o, s);
		}
		if ((o->max_executions && s->executions >= o->max_executions) ||
		    table_used >= MAX_STATES)
			break;
		/* Up: to the last state with a process left to try. */
		while (n && !frames[n].todo)
			n--;
		if (!frames[n].todo) {
			s->complete = true;
			break;
		}
		x_machine_reset();
		for (uint32_t i = 0; i < n; i++)
			x_step(events[i].proc, events[i].alt, &events[i]);
		s->transitions += n;
	}
	s->states = table_used;
	table_free();
}
