// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The timing backend: runs bodies in the order of their clocks and charges each access.
 *
 * Why the order is right: a CPU acts on shared state in two cases. Either no event and no other CPU
 * lies further back than its clock. Or its core has the line, and no CPU can take the line away
 * before the access ends (coherence_hit.h). A miss waits until its CPU is the last one.
 *
 * Values: a load and a locked operation take effect, for all CPUs, when their hooks return; two
 * hooks never overlap. An atomic store takes effect for its own CPU when its hook returns. For all
 * others it takes effect when it leaves the store buffer, so a CPU that spins on a word sees it
 * change only once the writer owns the line. The compiled code performs plain stores itself, so all
 * CPUs see these at once. A program that orders its plain accesses by locks cannot tell. If an
 * atomic and a plain access of one CPU meet in its buffer, the engine writes the buffer's values
 * early. explore/explore.c has x86-TSO in full.
 *
 * Store buffer: a store to a line that the core does not own enters the buffer and costs its CPU
 * one store. Entries become visible in order, one miss after the other. (Real cores prefetch
 * ownership for later entries: the model is pessimistic about long runs of remote stores.) Locked
 * operations and fences wait until the buffer is empty; a store waits while it is full.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "backend.h"
#include "coherence_hit.h"
#include "fiber.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define noinline    __attribute__((noinline))

#define STACK_SIZE (64u << 10)
#define SEQ_CST	   5

struct store {
	uint64_t addr;
	const void *pc;
	uint32_t size;
	bool delayed; /* @value is not in memory yet */
	uint64_t value;
};

#define NEVER (UINT64_MAX / 2) /* a time; far enough from overflow to add to */

enum wait { WAIT_NOTHING, WAIT_EMPTY, WAIT_SLOT };

/* What a fetch does when its CPU resumes; see fetch_step(). */
enum fetch_state { FETCH_NONE, FETCH_BEGIN, FETCH_CAUGHT_UP, FETCH_SENT };

/* The fields that accesses and switches read come first, in one cache line of the host. */
struct cpu {
	_Alignas(64) uint64_t clock;
	uint32_t number, core;
	uint32_t sb_head, sb_n;
	struct {
		uint64_t op;
		uint32_t line;
		uint8_t state; /* enum fetch_state */
		uint8_t source;
		bool write;
	} fetch;
	struct fiber *fiber;
	uint8_t wait; /* enum wait */
	bool computing;
	uint64_t timer_at; /* when computing ends; a timer event of another time is stale */
	uint64_t irq_at;   /* when the interrupt that is still pending comes, or NEVER */
	struct store *sb;
	uint64_t random;
	void (*body)(uint32_t cpu, void *arg);
	void *arg;
};

static struct {
	const struct model *model;
	struct coherence coherence;
	struct stats stats;
	struct cpu *cpu;
	struct fiber *fibers;
	struct fiber main;
	struct cpu *running; /* NULL outside of sim_run(), where accesses are free */
	uint32_t bodies;
	uint64_t events, finished_at;
	uint64_t relax;	  /* what cpu_relax() takes */
	uint32_t delayed; /* entries of all store buffers whose value is not in memory */
} sim;

/* ---- values in store buffers ---- */

static inline struct store *entry(const struct cpu *c, uint32_t i)
{
	return &c->sb[(c->sb_head + i) % sim.model->store_buffer];
}

static void write_value(struct store *s)
{
	if (!s->delayed)
		return;
	sim_raw_write((void *)s->addr, s->size, s->value);
	s->delayed = false;
	sim.delayed--;
}

static void write_values(struct cpu *c)
{
	for (uint32_t i = 0; i < c->sb_n; i++)
		write_value(entry(c, i));
}

static inline bool overlaps(const struct store *s, uint64_t addr, uint32_t size)
{
	return s->addr < addr + size && addr < s->addr + s->size;
}

/* The youngest entry whose value is not in memory for @c at @addr; NULL if there is none. */
static struct store *delayed_store(const struct cpu *c, uint64_t addr, uint32_t size)
{
	for (uint32_t i = c->sb_n; i--;) {
		struct store *s = entry(c, i);

		if (s->delayed && overlaps(s, addr, size))
			return s;
	}
	return NULL;
}

/* What @c itself reads: memory, with its own buffered stores laid over it. */
static uint64_t own_value(struct cpu *c, const volatile void *ptr, uint32_t size)
{
	uint64_t addr = (uint64_t)(uintptr_t)ptr;
	const struct store *s = delayed_store(c, addr, size);
	unsigned char bytes[8];

	if (!s)
		return sim_raw_read(ptr, size);
	if (addr < s->addr || addr + size > s->addr + s->size) {
		write_values(c); /* bytes of several entries, or of an entry and memory */
		return sim_raw_read(ptr, size);
	}
	sim_raw_write(bytes, s->size, s->value);
	return sim_raw_read(bytes + (addr - s->addr), size);
}

/* ---- life cycle ---- */

static uint64_t mix(uint64_t x)
{
	/* SplitMix64's finaliser (Steele, Lea, Flood 2014): makes neighbouring seeds unrelated. */
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static struct cpu *cpus_alloc(size_t n)
{
	struct cpu *cpu = aligned_alloc(_Alignof(struct cpu), n * sizeof(*cpu));

	if (cpu)
		memset(cpu, 0, n * sizeof(*cpu));
	return cpu;
}

int sim_init(const struct model *model, uint64_t seed)
{
	memset(&sim, 0, sizeof(sim));
	sim.model = model;
	arena_init();
	sim.cpu = cpus_alloc(model->nr_cpus);
	sim.fibers = fiber_pool_alloc(model->nr_cpus, STACK_SIZE);
	if (!sim.cpu || !sim.fibers || coherence_init(&sim.coherence, model) ||
	    stats_init(&sim.stats, model->nr_cpus)) {
		sim_exit();
		return -1;
	}
	sim.coherence.seed = seed;
	for (uint32_t i = 0; i < model->nr_cpus; i++) {
		struct cpu *c = &sim.cpu[i];

		c->number = i;
		c->core = model->cpu[i].core;
		c->fiber = &sim.fibers[i];
		c->irq_at = NEVER;
		c->random = mix(seed * 0x9e3779b97f4a7c15ull + i + 1);
		c->sb = calloc(model->store_buffer, sizeof(*c->sb));
		if (!c->sb) {
			sim_exit();
			return -1;
		}
	}
	return 0;
}

void sim_exit(void)
{
	if (sim.cpu)
		for (uint32_t i = 0; i < sim.model->nr_cpus; i++)
			free(sim.cpu[i].sb);
	free(sim.cpu);
	sim.cpu = NULL;
	if (sim.fibers)
		fiber_pool_free(sim.fibers, sim.model->nr_cpus);
	sim.fibers = NULL;
	coherence_free(&sim.coherence);
	stats_free(&sim.stats);
}

/* ---- the event loop ---- */

static void commit(struct cpu *c, uint64_t now);
static inline bool fetch_step(struct cpu *c);

/* Process events until one resumes a CPU; NULL when all bodies have returned. */
static noinline struct cpu *next_cpu(void)
{
	while (likely(sim.bodies)) {
		struct cpu *c;
		struct event ev;
		uint32_t id;

		if (unlikely(sim.coherence.events.first.time == UINT64_MAX)) {
			fprintf(stderr,
				"schedshard: all simulated CPUs idle, nothing to wake them\n");
			abort();
		}
		ev = events_pop(&sim.coherence.events);
		id = (uint32_t)ev.what;

		switch ((enum event_kind)(ev.what >> 32)) {
		case EVENT_PICK:
			coherence_pick(&sim.coherence, id, ev.time);
			break;
		case EVENT_COMMIT:
			commit(&sim.cpu[id], ev.time);
			break;
		case EVENT_TIMER:
			c = &sim.cpu[id];
			if (!c->computing || c->timer_at != ev.time)
				break;
			c->clock = ev.time;
			return c;
		case EVENT_RESUME:
			c = &sim.cpu[id];
			if (ev.time > c->clock)
				c->clock = ev.time;
			/* A fetch that must wait again needs no switch to its fiber. */
			if (!c->fetch.state || fetch_step(c))
				return c;
			break;
		}
	}
	return NULL;
}

/* Switch away until an EVENT_RESUME of @c, which the caller or another CPU has arranged. */
static inline void block(struct cpu *c)
{
	struct cpu *next = next_cpu();

	if (next == c)
		return;
	sim.running = next;
	fiber_switch(c->fiber, next->fiber);
}

/*
 * Must others catch up to this CPU's clock? At equal times events of lines come first (see enum
 * event_kind), then CPUs by number. If so, an EVENT_RESUME comes for this CPU when they have.
 */
static inline bool must_wait(struct cpu *c)
{
	struct events *e = &sim.coherence.events;
	struct event self = { c->clock, (uint64_t)EVENT_RESUME << 32 | c->number };

	if (!event_before(&e->first, &self))
		return false;
	events_push(e, c->clock, EVENT_RESUME, c->number);
	return true;
}

static inline void catch_up(struct cpu *c)
{
	if (must_wait(c))
		block(c);
}

static void cpu_main(void *arg)
{
	struct cpu *c = arg, *next;

	sim.running = c;
	c->body(c->number, c->arg);
	if (c->clock > sim.finished_at)
		sim.finished_at = c->clock;
	sim.bodies--;
	next = next_cpu();
	sim.running = next;
	c->fiber->return_to = next ? next->fiber : &sim.main;
}

void sim_relax_takes(uint64_t ps)
{
	sim.relax = ps;
}

void sim_spawn(uint32_t cpu, void (*body)(uint32_t cpu, void *arg), void *arg, uint64_t start)
{
	struct cpu *c = &sim.cpu[cpu];

	c->body = body;
	c->arg = arg;
	c->clock = start;
	fiber_start(c->fiber, cpu_main, c, &sim.main);
	events_push(&sim.coherence.events, start, EVENT_RESUME, cpu);
	sim.bodies++;
}

uint64_t sim_run(void)
{
	struct cpu *first = next_cpu();

	if (first) {
		sim.running = first;
		fiber_switch(&sim.main, first->fiber);
	}
	sim.running = NULL;
	/* Stores of bodies that returned with entries in their buffers. */
	for (uint32_t i = 0; i < sim.model->nr_cpus; i++)
		write_values(&sim.cpu[i]);
	return sim.finished_at;
}

/* ---- accesses ---- */

/* The first access to a line since the statistics began, or at all. */
static noinline struct line *first_touch(uint32_t line)
{
	struct line *l = line_of(&sim.coherence, line);

	stats_touch(&sim.stats, line);
	l->touched = sim.stats.epoch;
	return l;
}

static inline struct line *touch(uint32_t line)
{
	struct line_table *t = &sim.coherence.lines;

	sim.events++;
	if (unlikely(line >= t->n || t->line[line].touched != sim.stats.epoch))
		return first_touch(line);
	return &t->line[line];
}

/*
 * Can this CPU access the line at once? Its buffer is empty, its core has the line, and no later
 * event takes it away in time (coherence_hit.h). Most accesses end here. If the answer is no,
 * nothing has changed, and hits_at_once() tries the other ways.
 */
static inline bool hits(const struct cpu *c, struct line *l, uint32_t line, bool write, uint64_t op)
{
	return !c->sb_n && coherence_hit_alone(&sim.coherence, l, c->number, c->core, line, write,
					       op, c->clock, sim.coherence.events.first.time);
}

static inline bool hits_at_once(struct cpu *c, uint32_t line, bool write, uint64_t op)
{
	uint64_t extra;

	if (c->sb_n || !coherence_hit(&sim.coherence, c->number, c->core, line, write, op, c->clock,
				      sim.coherence.events.first.time, &extra))
		return false;
	c->clock += extra;
	return true;
}

/* The same once all events before this moment have happened. */
static bool hits_now(struct cpu *c, uint32_t line, bool write, uint64_t op)
{
	uint64_t extra;

	if (!coherence_hit(&sim.coherence, c->number, c->core, line, write, op, c->clock,
			   c->clock + 1, &extra))
		return false;
	c->clock += extra;
	return true;
}

/*
 * One step of a fetch, as far as it gets without other CPUs. Return: true when the core may access
 * the line once; else an EVENT_RESUME will come.
 */
static inline bool fetch_step(struct cpu *c)
{
	struct coherence *co = &sim.coherence;
	uint32_t req = request_of(c->number, false);

	switch ((enum fetch_state)c->fetch.state) {
	case FETCH_BEGIN:
		c->fetch.state = FETCH_CAUGHT_UP;
		if (must_wait(c))
			return false;
		/* fallthrough */
	case FETCH_CAUGHT_UP:
		if (hits_now(c, c->fetch.line, c->fetch.write, c->fetch.op))
			break;
		if (!c->fetch.write && coherence_park(co, c->number, c->fetch.line)) {
			c->fetch.state = FETCH_BEGIN;
			return false;
		}
		c->fetch.state = FETCH_SENT;
		coherence_submit(co, req, c->fetch.line, c->fetch.write, c->fetch.op, c->clock);
		return false;
	case FETCH_SENT:
		coherence_resume(co, req);
		c->fetch.source = co->req[req].source;
		break;
	case FETCH_NONE:
		break;
	}
	c->fetch.state = FETCH_NONE;
	return true;
}

/* Wait for a line. Return: where the miss found it. The core may then access it once. */
static inline enum source fetch(struct cpu *c, uint32_t line, bool write, uint64_t op)
{
	c->fetch.state = FETCH_BEGIN;
	c->fetch.line = line;
	c->fetch.write = write;
	c->fetch.op = op;
	c->fetch.source = SOURCE_HIT;
	if (!fetch_step(c))
		block(c);
	return (enum source)c->fetch.source;
}

static void wait_for_store_buffer(struct cpu *c, enum wait what)
{
	c->wait = what;
	block(c);
}

static inline void drain(struct cpu *c)
{
	while (c->sb_n)
		wait_for_store_buffer(c, WAIT_EMPTY);
}

/* The oldest store becomes visible. */
static void store_buffer_pop(struct cpu *c)
{
	struct store *s = &c->sb[c->sb_head];

	write_value(s);
	stats_add(&sim.stats, c->number, (void *)s->addr, s->size, ACCESS_STORE, s->pc, 0,
		  SOURCE_HIT);
	c->sb_head = (c->sb_head + 1) % sim.model->store_buffer;
	c->sb_n--;
}

/*
 * Commit from the oldest entry on while the core owns the lines. Request the first line that it
 * does not own.
 */
static void store_buffer_advance(struct cpu *c, uint64_t now)
{
	struct coherence *co = &sim.coherence;
	uint64_t extra;

	while (c->sb_n) {
		uint32_t line = arena_line((void *)c->sb[c->sb_head].addr);

		if (!coherence_hit(co, c->number, c->core, line, true, sim.model->store, now,
				   now + 1, &extra)) {
			coherence_submit(co, request_of(c->number, true), line, true,
					 sim.model->store, now);
			break;
		}
		store_buffer_pop(c);
		now += sim.model->store;
	}
	if ((c->wait == WAIT_EMPTY && !c->sb_n) ||
	    (c->wait == WAIT_SLOT && c->sb_n < sim.model->store_buffer)) {
		c->wait = WAIT_NOTHING;
		events_push(&co->events, now, EVENT_RESUME, c->number);
	}
}

static void commit(struct cpu *c, uint64_t now)
{
	coherence_resume(&sim.coherence, request_of(c->number, true));
	store_buffer_pop(c);
	store_buffer_advance(c, now + sim.model->store);
}

static void store_hit(struct cpu *c, const volatile void *addr, uint32_t size, const void *pc)
{
	c->clock += sim.model->store;
	stats_add(&sim.stats, c->number, addr, size, ACCESS_STORE, pc, 0, SOURCE_HIT);
}

/* True if @value is in the buffer and will be written later. It is NULL for a plain store. */
static inline bool slow_store(struct cpu *c, const volatile void *addr, uint32_t size,
			      const uint64_t *value, const void *pc)
{
	struct store s = { .addr = (uint64_t)(uintptr_t)addr, .pc = pc, .size = size };

	if (hits_at_once(c, arena_line(addr), true, sim.model->store)) {
		store_hit(c, addr, size, pc);
		return false;
	}
	catch_up(c);
	if (!c->sb_n && hits_now(c, arena_line(addr), true, sim.model->store)) {
		store_hit(c, addr, size, pc);
		return false;
	}
	if (c->sb_n == sim.model->store_buffer)
		wait_for_store_buffer(c, WAIT_SLOT);
	catch_up(c);
	if (value) {
		s.delayed = true;
		s.value = *value;
		sim.delayed++;
	} else if (delayed_store(c, s.addr, size)) {
		write_values(c); /* a delayed value would overwrite this one later */
	}
	*entry(c, c->sb_n++) = s;
	if (c->sb_n == 1)
		store_buffer_advance(c, c->clock);
	c->clock += sim.model->store;
	return value;
}

/* Does a store of this CPU that is still in the buffer supply the value? */
static bool forwarded(const struct cpu *c, const volatile void *addr)
{
	for (uint32_t i = 0; i < c->sb_n; i++) {
		uint64_t a = entry(c, i)->addr;

		if (a >> 3 == (uint64_t)(uintptr_t)addr >> 3)
			return true;
	}
	return false;
}

bool sim_store_waits(uint32_t cpu, const volatile void *addr)
{
	const struct cpu *c = &sim.cpu[cpu];

	for (uint32_t i = 0; i < c->sb_n; i++)
		if (arena_line((void *)entry(c, i)->addr) == arena_line(addr))
			return true;
	return false;
}

static inline void slow_load(struct cpu *c, const volatile void *addr, uint32_t size,
			     const void *pc)
{
	uint64_t issued = c->clock;
	enum source source;

	if (hits_at_once(c, arena_line(addr), false, sim.model->load_hit)) {
		c->clock += sim.model->load_hit;
		return;
	}
	if (c->sb_n && forwarded(c, addr)) {
		/* A CPU that spins here for another value would keep all others from running. */
		catch_up(c);
		c->clock += sim.model->load_hit;
		return;
	}
	source = fetch(c, arena_line(addr), false, sim.model->load_hit);
	c->clock += sim.model->load_hit;
	if (source != SOURCE_HIT)
		stats_add(&sim.stats, c->number, addr, size, ACCESS_LOAD, pc, c->clock - issued,
			  source);
}

static inline void slow_locked(struct cpu *c, const volatile void *addr, uint32_t size,
			       const void *pc)
{
	uint64_t issued;
	enum source source;

	if (hits_at_once(c, arena_line(addr), true, sim.model->locked)) {
		c->clock += sim.model->locked;
		stats_add(&sim.stats, c->number, addr, size, ACCESS_RMW, pc, sim.model->locked,
			  SOURCE_HIT);
		return;
	}
	issued = c->clock;
	drain(c);
	source = fetch(c, arena_line(addr), true, sim.model->locked);
	c->clock += sim.model->locked;
	stats_add(&sim.stats, c->number, addr, size, ACCESS_RMW, pc, c->clock - issued, source);
}

/* Does the locked operation hit? If so, account for it. */
static inline bool locked_hits(struct cpu *c, const volatile void *addr, uint32_t size,
			       const void *pc)
{
	uint32_t line = arena_line(addr);

	if (!hits(c, touch(line), line, true, sim.model->locked))
		return false;
	c->clock += sim.model->locked;
	stats_add(&sim.stats, c->number, addr, size, ACCESS_RMW, pc, sim.model->locked, SOURCE_HIT);
	return true;
}

/* The CPU whose access is simulated; NULL outside of sim_run(), and outside of the arena. */
static inline struct cpu *simulated(const volatile void *addr)
{
	return likely(arena_contains(addr)) ? sim.running : NULL;
}

/* ---- backend.h ---- */

/*
 * Each kind of access has a short function for hits, which most accesses are. It jumps to a second
 * function for all the rest. After a switch of fibers the host mispredicts each return, and must
 * fetch the stack of a waiting fiber into its caches: so there are few returns.
 */
static noinline uint64_t load_and_read(struct cpu *c, const volatile void *addr, uint32_t size,
				       const void *pc)
{
	slow_load(c, addr, size, pc);
	return c->sb_n ? own_value(c, addr, size) : sim_raw_read(addr, size);
}

uint64_t sim_load(const volatile void *addr, unsigned int size, int mo, const void *pc)
{
	struct cpu *c = simulated(addr);

	if (c) {
		uint32_t line = arena_line(addr);

		if (!hits(c, touch(line), line, false, sim.model->load_hit))
			return load_and_read(c, addr, size, pc);
		c->clock += sim.model->load_hit;
	}
	return sim_raw_read(addr, size);
}

static noinline void store_and_write(struct cpu *c, volatile void *addr, uint32_t size,
				     uint64_t val, const void *pc)
{
	if (!slow_store(c, addr, size, &val, pc))
		sim_raw_write(addr, size, val);
}

static noinline void exchange(struct cpu *c, volatile void *addr, uint32_t size, uint64_t val,
			      const void *pc)
{
	if (!locked_hits(c, addr, size, pc))
		slow_locked(c, addr, size, pc);
	sim_raw_write(addr, size, val);
}

void sim_store(volatile void *addr, unsigned int size, uint64_t val, int mo, const void *pc)
{
	struct cpu *c = simulated(addr);

	if (c) {
		uint32_t line = arena_line(addr);

		/* A seq_cst store is an xchg on x86. */
		if (mo == SEQ_CST) {
			exchange(c, addr, size, val, pc);
			return;
		}
		if (!hits(c, touch(line), line, true, sim.model->store)) {
			store_and_write(c, addr, size, val, pc);
			return;
		}
		store_hit(c, addr, size, pc);
	}
	sim_raw_write(addr, size, val);
}

static inline uint64_t rmw_value(volatile void *addr, uint32_t size, enum sim_rmw_op op,
				 uint64_t operand)
{
	uint64_t old = sim_raw_read(addr, size);

	sim_raw_write(addr, size, sim_rmw_result(op, old, operand));
	return old;
}

static noinline uint64_t slow_rmw(struct cpu *c, volatile void *addr, uint32_t size,
				  enum sim_rmw_op op, uint64_t operand, const void *pc)
{
	slow_locked(c, addr, size, pc);
	return rmw_value(addr, size, op, operand);
}

uint64_t sim_rmw(volatile void *addr, unsigned int size, enum sim_rmw_op op, uint64_t operand,
		 int mo, const void *pc)
{
	struct cpu *c = simulated(addr);

	if (c && !locked_hits(c, addr, size, pc))
		return slow_rmw(c, addr, size, op, operand, pc);
	return rmw_value(addr, size, op, operand);
}

bool sim_cas(volatile void *addr, unsigned int size, uint64_t *expected, uint64_t desired, int mo,
	     const void *pc)
{
	struct cpu *c = simulated(addr);
	uint64_t old;

	/* A failing cmpxchg also takes the line exclusively. */
	if (c && !locked_hits(c, addr, size, pc))
		slow_locked(c, addr, size, pc);
	old = sim_raw_read(addr, size);
	if (old != *expected) {
		*expected = old;
		return false;
	}
	sim_raw_write(addr, size, desired);
	return true;
}

void sim_fence(int mo, const void *pc)
{
	struct cpu *c = sim.running;

	if (!c || mo != SEQ_CST)
		return;
	drain(c);
	c->clock += sim.model->fence;
}

void sim_relax(void)
{
	if (sim.running)
		sim.running->clock += sim.relax;
}

static noinline void slow_plain_load(struct cpu *c, const volatile void *addr, uint32_t size,
				     const void *pc)
{
	slow_load(c, addr, size, pc);
	/* The compiled code reads memory. */
	if (c->sb_n && delayed_store(c, (uint64_t)(uintptr_t)addr, size))
		write_values(c);
}

static noinline void slow_plain_store(struct cpu *c, const volatile void *addr, uint32_t size,
				      const void *pc)
{
	slow_store(c, addr, size, NULL, pc);
}

void sim_plain(const volatile void *addr, unsigned int size, bool write, const void *pc)
{
	struct cpu *c = sim.running;
	uint32_t line = arena_line(addr);

	if (unlikely(!c))
		return;
	if (write) {
		if (likely(hits(c, touch(line), line, true, sim.model->store)))
			store_hit(c, addr, size, pc);
		else
			slow_plain_store(c, addr, size, pc);
	} else {
		if (likely(hits(c, touch(line), line, false, sim.model->load_hit)))
			c->clock += sim.model->load_hit;
		else
			slow_plain_load(c, addr, size, pc);
	}
}

/* ---- sim.h ---- */

uint64_t sim_now(void)
{
	return sim.running->clock;
}

void sim_spend(uint64_t ps)
{
	sim.running->clock += ps;
}

uint64_t sim_compute(uint64_t ps)
{
	struct cpu *c = sim.running;
	uint64_t end = ps < NEVER - c->clock ? c->clock + ps : NEVER;

	catch_up(c); /* otherwise the CPU would miss an interrupt that was sent before */
	if (c->irq_at > c->clock) {
		c->timer_at = c->irq_at < end ? c->irq_at : end;
		c->computing = true;
		if (c->timer_at < NEVER)
			events_push(&sim.coherence.events, c->timer_at, EVENT_TIMER, c->number);
		block(c);
		c->computing = false;
	}
	if (c->irq_at > c->clock)
		return 0;
	c->irq_at = NEVER;
	return end - c->clock;
}

void sim_interrupt(uint32_t cpu, uint64_t delay)
{
	struct cpu *c = &sim.cpu[cpu];
	uint64_t at = sim.running->clock + delay;

	write_values(sim.running); /* as Linux drains the buffer: the receiver sees the stores */
	catch_up(sim.running);	   /* otherwise it could merge with one that is taken before */
	if (at >= c->irq_at)
		return;
	c->irq_at = at;
	if (c->computing && at < c->timer_at) {
		c->timer_at = at;
		events_push(&sim.coherence.events, at, EVENT_TIMER, cpu);
	}
}

uint64_t sim_random(void)
{
	struct cpu *c = sim.running;

	c->random += 0x9e3779b97f4a7c15ull;
	return mix(c->random);
}

void sim_measure_from_here(void)
{
	stats_reset(&sim.stats);
}

/* Write the values of all store buffers. Return: what was in memory before, to be freed. */
static uint64_t *write_all_values(void)
{
	uint64_t *before = malloc(sim.delayed * sizeof(*before)), n = 0;

	if (!before)
		abort();
	for (uint32_t i = 0; i < sim.model->nr_cpus; i++)
		for (uint32_t k = 0; k < sim.cpu[i].sb_n; k++) {
			struct store *s = entry(&sim.cpu[i], k);

			if (!s->delayed)
				continue;
			before[n++] = sim_raw_read((void *)s->addr, s->size);
			sim_raw_write((void *)s->addr, s->size, s->value);
		}
	return before;
}

/* Undo write_all_values(). */
static void take_back_values(const uint64_t *before)
{
	uint64_t n = sim.delayed;

	for (uint32_t i = sim.model->nr_cpus; i--;)
		for (uint32_t k = sim.cpu[i].sb_n; k--;) {
			struct store *s = entry(&sim.cpu[i], k);

			if (s->delayed)
				sim_raw_write((void *)s->addr, s->size, before[--n]);
		}
}

void sim_observe(void (*look)(void *arg), void *arg)
{
	struct cpu *c = sim.running;
	uint64_t *before = sim.delayed ? write_all_values() : NULL;

	sim.running = NULL;
	look(arg);
	sim.running = c;
	if (before)
		take_back_values(before);
	free(before);
}

const struct stats *sim_stats(void)
{
	stats_settle(&sim.stats);
	return &sim.stats;
}

uint64_t sim_events(void)
{
	return sim.events;
}

uint32_t sim_lines_touched(void)
{
	return sim.stats.touched;
}
