// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why the feed ends. A CPU is in one of five states:
 *
 *   running
 *   idle      its next item has not arrived
 *   parked    see below
 *   held      it waits for an instruction of another CPU that the model has not reached
 *   ended
 *
 * The simulated machine stops only when no CPU runs. So before the last running CPU stops it wakes
 * an idle CPU whose next item has arrived. If there is none and no more can come, it wakes a held
 * CPU. That happens only in a damaged trace.
 *
 * CPUs never hold each other in a circle, because an access or a resumption that would close a
 * circle is not held. A circle would stop its CPUs as long as another CPU runs, and that may be for
 * ever, if its thread waits for them in a loop. Circles are rare: CPU A resumes, and is held until
 * CPU B has ended a block that it has begun. If B reads in the rest of the block what A has
 * written, it would have to wait for A.
 *
 * A CPU that resumes takes over the clock of the CPU furthest behind. If all CPUs were idle, it
 * takes the latest of all clocks plus the idle time in the item, which the source knows. If all
 * items are there from the start, such a CPU is parked until no CPU runs. Then all CPUs have
 * reached that idle time, and the first to resume continues first.
 */
#include "feed.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "backend.h"
#include "feed_lines.h"
#include "machine.h"
#include "memory.h"
#include "sim.h"
#include "sim_threads.h"

/* The simulator reports program counters relative to the image, that is, to this symbol. */
const char __executable_start;

#define NO_WAITER    UINT32_MAX
#define AFTER_CYCLES 16u
#define AFTER_STEPS  256u
#define EVER	     UINT64_MAX
/* Not 0: an event follows an access that has ended, and must not come before its beginning. */
#define FREE_PS 1u

enum feed_state { RUNNING, IDLE, HELD, PARKED, ENDED };

struct feed_cpu {
	uint64_t done;	 /* instructions that the clock covers */
	uint64_t offset; /* clock minus @done in time; any thread reads it */
	uint64_t clock;
	uint64_t waited; /* part of the clock in which the CPU was idle */
	uint64_t slept;	 /* part of @waited since the clock's last publication */
	enum feed_state state;
	uint32_t held_by;
	uint64_t held_for; /* HELD: until this instruction of CPU @held_by */
	uint64_t idled;	   /* PARKED: see struct feed, when it resumes */
	uint64_t after;	   /* instruction of another CPU whose store the next access sees */
	uint32_t after_cpu;
	uint64_t near; /* the last instruction near a miss */
	bool is_after;
	struct {
		uint64_t done, clock, waited;
	} before;	  /* the second CPU was used */
	uint32_t next;	  /* next CPU that the same CPU holds */
	uint32_t waiters; /* first CPU that this CPU holds */
	uint64_t first_held;
};

struct feed {
	struct feed_setup setup;
	struct feed_source source;
	struct model model, own; /* @own: as the machine's file describes it */
	uint64_t ps;
	struct feed_cpu cpu[FEED_MAX_CPUS];
	uint32_t nr[ENDED + 1];
	uint64_t news_seen;
	uint64_t items[ITEM_KINDS];
	uint64_t released; /* held for an instruction that never came, or in a circle */
	uint64_t latest;   /* highest clock of any CPU */
	uint64_t idled;	   /* sum of all idle times, in the clocks */
	uint64_t idle_until;
	uint64_t now; /* see feed_clock() */
	uint64_t finished;
	uint32_t used;	/* 0: no CPU was used, 1: one, 2: several */
	uint64_t begin; /* when a second CPU was first used, or 0 */
	const struct feed_cpu *first;
	struct feed_lines lines;
};

static void set_state(struct feed *f, uint32_t n, enum feed_state state)
{
	f->nr[f->cpu[n].state]--;
	f->cpu[n].state = state;
	f->nr[state]++;
}

static void wake(struct feed *f, uint32_t n)
{
	set_state(f, n, RUNNING);
	sim_interrupt(n, 0);
}

/* Wake every idle CPU that has something to do. */
static bool wake_ready(struct feed *f)
{
	bool any = false;

	for (uint32_t n = 0; n < f->setup.nr_cpus; n++) {
		if (f->cpu[n].state == IDLE && f->source.ready(f->source.arg, n)) {
			wake(f, n);
			any = true;
		}
	}
	return any;
}

/* Time advances to @now; it does not go back when a CPU resumes a little late. */
static void come_to(struct feed *f, uint64_t now)
{
	const struct feed_source *s = &f->source;

	if (now > f->now)
		__atomic_store_n(&f->now, now, __ATOMIC_RELEASE);
	if (s->due && f->now >= __atomic_load_n(s->due, __ATOMIC_RELAXED))
		s->alarm(s->arg);
}

static void look_for_news(struct feed *f)
{
	uint64_t news;

	if (!f->source.news)
		return;
	/* Pairs with the release in access_resume(): the item is visible. */
	news = __atomic_load_n(f->source.news, __ATOMIC_ACQUIRE);
	if (news == f->news_seen)
		return;
	f->news_seen = news;
	wake_ready(f);
}

static bool release_one(struct feed *f)
{
	for (uint32_t n = 0; n < f->setup.nr_cpus; n++) {
		struct feed_cpu *x = &f->cpu[n];

		if (x->waiters != NO_WAITER) {
			uint32_t held = x->waiters;

			x->waiters = f->cpu[held].next;
			f->released++;
			wake(f, held);
			return true;
		}
	}
	return false;
}

/* Wake the parked CPUs whose idle time ended first. */
static bool unpark(struct feed *f)
{
	uint64_t first = EVER;

	for (uint32_t n = 0; n < f->setup.nr_cpus; n++)
		if (f->cpu[n].state == PARKED && f->cpu[n].idled < first)
			first = f->cpu[n].idled;
	for (uint32_t n = 0; n < f->setup.nr_cpus; n++)
		if (f->cpu[n].state == PARKED && f->cpu[n].idled == first)
			wake(f, n);
	return first != EVER;
}

/* @n stops running; see the opening comment. @n itself may be the CPU that is woken. */
static void leave_running(struct feed *f, uint32_t n, enum feed_state state)
{
	set_state(f, n, state);
	while (!f->nr[RUNNING] && (f->nr[IDLE] || f->nr[HELD] || f->nr[PARKED])) {
		if (wake_ready(f) || unpark(f))
			break;
		if (f->nr[HELD] && release_one(f))
			break;
		if (f->source.idle && !f->nr[HELD])
			come_to(f, f->latest + f->source.idle(f->source.arg) - f->idled);
		f->source.wait(f->source.arg);
	}
}

static void sleep_until_woken(struct feed *f, uint32_t n)
{
	while (f->cpu[n].state != RUNNING)
		sim_compute(EVER);
}

/* Sleep, and count the time as idle: the CPU that wakes this one may be later in time. */
static void idle_until_woken(struct feed *f, uint32_t n)
{
	uint64_t began = sim_now();

	sleep_until_woken(f, n);
	f->cpu[n].slept += sim_now() - began;
}

static void publish(struct feed *f, struct feed_cpu *c)
{
	c->clock = sim_now();
	c->waited += c->slept;
	c->slept = 0;
	if (c->clock > f->latest)
		f->latest = c->clock;
	__atomic_store_n(&c->offset, c->clock - c->done * f->ps, __ATOMIC_RELAXED);
}

/* Release the CPUs that were held until CPU @c had done @done instructions. */
static void release(struct feed *f, struct feed_cpu *c, uint64_t done)
{
	uint32_t *link = &c->waiters;

	c->first_held = EVER;
	while (*link != NO_WAITER) {
		uint32_t n = *link;
		struct feed_cpu *w = &f->cpu[n];

		if (w->held_for <= done) {
			*link = w->next;
			wake(f, n);
			continue;
		}
		if (w->held_for < c->first_held)
			c->first_held = w->held_for;
		link = &w->next;
	}
}

static void advance(struct feed *f, struct feed_cpu *c, uint64_t instr)
{
	uint64_t near = c->near < instr ? c->near : instr, left;

	if (instr <= c->done)
		return;
	near = near > c->done ? near - c->done : 0;
	/* Compute until no time is left; other CPUs continue meanwhile. */
	for (left = (instr - c->done - near) * f->ps + near * f->ps / FEED_WIDTH; left;)
		left = sim_compute(left);
	__atomic_store_n(&c->done, instr, __ATOMIC_RELAXED);
	if (instr >= c->first_held)
		release(f, c, instr);
	publish(f, c);
}

/* Does CPU @other wait for CPU @n, directly or not? */
static bool is_held_by(const struct feed *f, uint32_t other, uint32_t n)
{
	while (other != n && f->cpu[other].state == HELD)
		other = f->cpu[other].held_by;
	return other == n;
}

static void hold(struct feed *f, uint32_t n, uint32_t other, uint64_t instr)
{
	struct feed_cpu *c = &f->cpu[n], *x = &f->cpu[other];

	if (is_held_by(f, other, n)) {
		f->released++;
		return;
	}
	c->held_by = other;
	c->held_for = instr;
	c->next = x->waiters;
	x->waiters = n;
	if (instr < x->first_held)
		x->first_held = instr;
	leave_running(f, n, HELD);
	sleep_until_woken(f, n);
}

static void resume(struct feed *f, uint32_t n, const struct item *item)
{
	uint32_t other = item->pc < f->setup.nr_cpus ? (uint32_t)item->pc : ITEM_NO_CPU;
	struct feed_cpu *c = &f->cpu[n], *x;
	uint64_t since = f->latest;

	if (other != ITEM_NO_CPU && other != n) {
		x = &f->cpu[other];
		if (x->state != ENDED && x->done < item->place) {
			uint64_t began = sim_now();

			hold(f, n, other, item->place);
			c->slept += sim_now() - began;
		}
		since = x->clock;
	} else if (other == ITEM_NO_CPU) {
		if (!f->source.idle) {
			c->idled = item->place;
			leave_running(f, n, PARKED);
			idle_until_woken(f, n);
		}
		if (item->place > f->idled) {
			f->idle_until = f->latest + item->place - f->idled;
			f->idled = item->place;
		}
		since = f->idle_until;
	}
	/* Time does not go back: the other CPU may not have come so far. */
	if (since < f->now)
		since = f->now;
	if (since > sim_now()) {
		c->waited += since - sim_now();
		sim_spend(since - sim_now());
	}
	publish(f, c);
}

/*
 * A program starts alone. Figures count from the time when it uses a second CPU. What the first
 * thread does before then depends on the recorder, which may see the loader and the C library.
 */
static void use(struct feed *f, struct feed_cpu *c)
{
	if (f->used > 1 || !f->setup.detailed)
		return;
	if (!f->used) {
		f->used = 1;
		f->first = c;
	} else if (f->first != c) {
		f->used = 2;
		f->begin = sim_now();
		sim_measure_from_here();
		memset(f->items, 0, sizeof(f->items));
		for (uint32_t n = 0; n < f->setup.nr_cpus; n++) {
			struct feed_cpu *x = &f->cpu[n];

			x->before.done = x->done;
			x->before.clock = x->clock;
			x->before.waited = x->waited;
		}
	}
}

/*
 * The emulator let this CPU see what another one wrote. In the clocks, too, the access must come
 * after that store, and after the store has left the store buffer. The clocks alone do not ensure
 * that, because CPUs are only kept within a quantum of each other. Otherwise a CPU that waits for a
 * word would see its new value in the old line, and the transfer would be lost.
 */
static void come_after(struct feed *f, uint32_t n, const char *at)
{
	struct feed_cpu *c = &f->cpu[n], *x = &f->cpu[c->after_cpu];
	const struct feed_writer *w;

	c->is_after = false;
	if (c->after_cpu == n)
		return;
	if (x->state != ENDED && x->done < c->after)
		hold(f, n, c->after_cpu, c->after);
	for (uint32_t i = 0; i < AFTER_STEPS; i++) {
		w = &f->lines.writer[arena_line(at)];
		if ((w->cpu != c->after_cpu || w->instr >= c->after) &&
		    !sim_store_waits(c->after_cpu, at))
			return;
		sim_compute(AFTER_CYCLES * f->ps);
	}
}

static void perform(struct feed *f, uint32_t n, const struct item *item)
{
	const uint32_t known = f->lines.n;
	char *at = feed_lines_at(&f->lines, item->place);
	uint32_t in_line = (uintptr_t)at % LINE_SIZE, size = item->size, locked;
	const void *pc = (const void *)((uintptr_t)&__executable_start + item->pc);

	const bool locked_first = f->lines.n > known && item->kind == ITEM_LOCKED;

	if (f->cpu[n].is_after)
		come_after(f, n, at);
	/*
	 * A program's accesses of lines that one CPU uses, or that nobody writes, are not items
	 * unless they are locked, or unless the line becomes such a line as its bytes are moved.
	 * Then it costs no more than the others.
	 */
	if (f->setup.hits_free &&
	    (locked_first || (f->lines.writer[arena_line(at)].cpu == UINT32_MAX &&
			      feed_lines_edited(&f->lines, item->place)))) {
		if (item->kind == ITEM_LOAD)
			return;
		sim_has_line(arena_line(at), n, true);
	}
	if (size > LINE_SIZE - in_line)
		size = LINE_SIZE - in_line; /* an access across lines counts for the first line */
	locked = size;
	/* Only a report of shared bytes needs the size of a locked operation. */
	if (!f->setup.detailed || size > 8 || size & (size - 1))
		locked = 1;
	if (f->setup.hits_free) {
		bool near = item->instr <= f->cpu[n].near;

		f->model.load_hit = near ? f->own.load_hit : FREE_PS;
		f->model.forward = near ? f->own.forward : FREE_PS;
		f->model.store = near ? f->own.store : FREE_PS;
		f->model.after_locked = near ? f->own.after_locked : 0;
	}
	if (item->kind == ITEM_LOCKED)
		sim_rmw(at, locked, SIM_RMW_OR, 0, 0, pc);
	else
		sim_plain(at, size, item->kind == ITEM_STORE, pc);
	if (f->setup.detailed &&
	    feed_lines_note(&f->lines, n, at, size, item->kind != ITEM_LOAD, pc) &&
	    f->setup.hits_free)
		f->cpu[n].near = item->instr + FEED_NEAR;
	if (item->kind != ITEM_LOAD)
		f->lines.writer[arena_line(at)] = (struct feed_writer){ item->instr, n };
}

static void settle_home(struct feed *f, const struct item *item)
{
	const struct feed_setup *s = &f->setup;

	if (item->pc < s->nr_cpus)
		feed_lines_home(&f->lines, item->place,
				(uint32_t)s->machine->topo.cpu[s->cpu[item->pc]].node);
}

static void body(uint32_t n, void *arg)
{
	struct feed *f = arg;
	struct feed_cpu *c = &f->cpu[n];
	struct item item;

	for (;;) {
		look_for_news(f);
		come_to(f, sim_now());
		switch (f->source.get(f->source.arg, n, &item)) {
		case FEED_EMPTY:
			f->source.wait(f->source.arg);
			continue;
		case FEED_TIME:
			advance(f, c, item.instr);
			continue;
		case FEED_END:
			release(f, c, EVER);
			leave_running(f, n, ENDED);
			return;
		case FEED_ITEM:
			break;
		}
		advance(f, c, item.instr);
		f->items[item.kind]++;
		if (item.kind == ITEM_IDLE) {
			if (f->source.ready(f->source.arg, n))
				continue;
			leave_running(f, n, IDLE);
			idle_until_woken(f, n);
		} else if (item.kind == ITEM_RESUME) {
			resume(f, n, &item);
		} else if (item.kind == ITEM_HOME) {
			settle_home(f, &item);
		} else if (item.kind == ITEM_AFTER) {
			c->is_after = item.pc < f->setup.nr_cpus;
			c->after_cpu = (uint32_t)item.pc;
			c->after = item.place;
		} else if (item.kind != ITEM_TIME) {
			use(f, c);
			perform(f, n, &item);
			publish(f, c);
		}
	}
}

/* ---- life cycle ---- */

struct feed *feed_new(const struct feed_setup *setup, const struct feed_source *source)
{
	struct feed *f = memory.zeroed(sizeof(*f));

	if (!f)
		return NULL;
	f->setup = *setup;
	f->source = *source;
	if (model_build(&f->model, setup->machine, setup->cpu, setup->nr_cpus)) {
		free(f);
		return NULL;
	}
	f->ps = model_cycles(&f->model, 1);
	f->model.waits_by_store = setup->detailed;
	f->own = f->model;
	for (uint32_t n = 0; n < setup->nr_cpus; n++) {
		f->cpu[n].waiters = NO_WAITER;
		f->cpu[n].first_held = EVER;
	}
	f->nr[RUNNING] = setup->nr_cpus;
	return f;
}

void feed_free(struct feed *f)
{
	if (!f)
		return;
	feed_lines_free(&f->lines);
	sim_exit();
	model_free(&f->model);
	free(f);
}

void feed_run(struct feed *f)
{
	if (sim_init(&f->model, 1) || feed_lines_init(&f->lines, &f->setup))
		abort();
	for (uint32_t n = 0; n < f->setup.nr_cpus; n++)
		sim_spawn(n, body, f, 0);
	f->finished = sim_run();
}

uint64_t feed_offset(const struct feed *f, uint32_t cpu)
{
	return __atomic_load_n(&f->cpu[cpu].offset, __ATOMIC_RELAXED);
}

uint64_t feed_done(const struct feed *f, uint32_t cpu)
{
	return __atomic_load_n(&f->cpu[cpu].done, __ATOMIC_RELAXED);
}

const uint64_t *feed_clock(const struct feed *f)
{
	return &f->now;
}

uint64_t feed_instruction(const struct feed *f)
{
	return f->ps;
}

/* An array per CPU that did anything: number, instructions, busy and idle picoseconds. */
static json_t *cpu_times_json(const struct feed *f)
{
	json_t *all = json_array();

	for (uint32_t n = 0; n < f->setup.nr_cpus; n++) {
		const struct feed_cpu *c = &f->cpu[n];
		uint64_t waited = c->waited - c->before.waited;

		if (c->done > c->before.done)
			json_array_append_new(
				all, json_pack("[I, I, I, I]", (json_int_t)f->setup.cpu[n],
					       (json_int_t)(c->done - c->before.done),
					       (json_int_t)(c->clock - c->before.clock - waited),
					       (json_int_t)waited));
	}
	return all;
}

void feed_machine_json(const struct machine *m, json_t *into)
{
	json_object_set_new(into, "machine",
			    json_pack("{s:s, s:i, s:f}", "name", m->name, "cpus", (int)m->nr_cpus,
				      "clock_ghz", m->clock_ghz));
}

static void append(json_t *line, void *lines)
{
	json_array_append_new(lines, line);
}

void feed_json(const struct feed *f, json_t *into)
{
	const struct machine *m = f->setup.machine;
	uint64_t instructions = 0, clocks = 0;
	json_t *lines = json_array();

	for (uint32_t n = 0; n < f->setup.nr_cpus; n++) {
		instructions += f->cpu[n].done - f->cpu[n].before.done;
		clocks += f->cpu[n].clock - f->cpu[n].before.clock;
	}
	feed_machine_json(m, into);
	json_object_set_new(
		into, "model",
		json_pack("{s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "virtual_ns",
			  (double)(f->finished - f->begin) / 1000, "busy_ns", (double)clocks / 1000,
			  "instructions", (json_int_t)instructions, "loads",
			  (json_int_t)f->items[ITEM_LOAD], "stores",
			  (json_int_t)f->items[ITEM_STORE], "locked",
			  (json_int_t)f->items[ITEM_LOCKED], "idle",
			  (json_int_t)f->items[ITEM_IDLE], "released", (json_int_t)f->released,
			  "lines_touched", (json_int_t)sim_lines_touched()));
	if (f->setup.detailed)
		json_object_set_new(into, "cpu_times", cpu_times_json(f));
	feed_lines_json(&f->lines, &f->model, into, append, lines);
	json_object_set_new(into, "lines", lines);
}
