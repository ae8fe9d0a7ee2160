// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The accesses of bodies (backend.h): each takes its time from the CPU's clock.
 *
 * Each kind of access has a short function for hits, the most frequent case, which jumps to a
 * second function for everything else. After a switch of fibers the host mispredicts each return,
 * and must fetch the stack of a waiting fiber into its caches. So the code has few returns.
 */
#include "backend.h"

#include "arena.h"
#include "coherence_hit.h"
#include "engine.h"
#include "sim.h"
#include "sim_threads.h"
#include "store_buffer.h"
#include "watchdog.h"

#define SEQ_CST	      5
#define always_inline inline __attribute__((always_inline)) /* where gcc would not inline */

/* ---- hits ---- */

/* Handle the first access to a line since the statistics began, or at all. */
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

	watchdog_access();
	if (unlikely(line >= t->n || t->line[line].touched != sim.stats.epoch))
		return first_touch(line);
	return &t->line[line];
}

/*
 * Can this CPU complete the access at once? Only if its store buffer is empty, its core has the
 * line, and no event can take the line away before the access ends (coherence_hit.h). That holds
 * for most accesses. Otherwise nothing has been changed, and the caller goes on to slow_hit(),
 * whose checks are more expensive.
 */
static inline bool fast_hit(const struct cpu *c, struct line *l, uint32_t line, bool write,
			    uint64_t op)
{
	return !c->sb_n && coherence_hit_alone(&sim.coherence, l, c->number, c->core, line, write,
					       op, c->clock, sim.coherence.events.first.time);
}

static inline bool slow_hit(struct cpu *c, uint32_t line, bool write, uint64_t op)
{
	uint64_t extra;

	if (c->sb_n || !coherence_hit(&sim.coherence, c->number, c->core, line, write, op, c->clock,
				      sim.coherence.events.first.time, &extra))
		return false;
	c->clock += extra;
	return true;
}

/* ---- waits ---- */

/* Wait for a line. Return: where the miss found the line. The core may then access it once. */
static inline enum source fetch(struct cpu *c, uint32_t line, bool write, bool far, uint64_t op)
{
	c->fetch.state = FETCH_BEGIN;
	c->fetch.line = line;
	c->fetch.write = write;
	c->fetch.far = far;
	c->fetch.op = op;
	c->fetch.source = SOURCE_HIT;
	if (!fetch_step(c))
		engine_block(c);
	return (enum source)c->fetch.source;
}

static void wait_for_store_buffer(struct cpu *c, enum wait what)
{
	c->wait = what;
	c->waits = c->clock;
	engine_block(c);
}

static inline void drain(struct cpu *c, enum wait how)
{
	while (c->sb_n)
		wait_for_store_buffer(c, how);
}

/* ---- what does not hit at once ---- */

static inline uint64_t word_of(const volatile void *addr)
{
	return (uint64_t)(uintptr_t)addr >> 3;
}

/*
 * Loads that a core has in flight. The load queue has 44 entries on Zen 2, and 72 on Zen 3 (AMD,
 * Software Optimization Guides 56305 and 56665).
 */
enum { LOADS_IN_FLIGHT = 64 };

/*
 * The time of a load of the word that the CPU stored last. In a model where it is 0, the core loads
 * while it stores. That holds for loads in flight, but not for a core that polls the word: that
 * core would spin without time passing, so nobody could store another value.
 */
static uint64_t forward_cost(struct cpu *c)
{
	if (sim.model->forward)
		return sim.model->forward;
	if (c->forwarded_at != c->clock) {
		c->forwarded_at = c->clock;
		c->forwarded = 0;
	}
	return ++c->forwarded < LOADS_IN_FLIGHT ? 0 : sim.model->load_hit;
}

/* The time of a load that hits: the store buffer or the L1 cache supplies the value. */
static inline uint64_t load_cost(struct cpu *c, const volatile void *addr)
{
	return word_of(addr) == c->stored ? forward_cost(c) : sim.model->load_hit;
}

/* A load begins when the preceding locked operation is complete. */
static inline void begin_load(struct cpu *c)
{
	if (c->stored != AFTER_LOCKED)
		return;
	c->stored = 0;
	c->clock += sim.model->after_locked;
}

static void store_hit(struct cpu *c, const volatile void *addr, uint32_t size, const void *pc)
{
	c->clock += sim.model->store;
	c->stored = word_of(addr);
	stats_add(&sim.stats, c->number, addr, size, ACCESS_STORE, pc, 0, SOURCE_HIT);
}

/*
 * A store that does not hit at once. @value is NULL for a plain store. Return: true if the value is
 * in the buffer and will be written later.
 */
static always_inline bool slow_store(struct cpu *c, const volatile void *addr, uint32_t size,
				     const uint64_t *value, const void *pc)
{
	struct store s = { .addr = (uint64_t)(uintptr_t)addr, .pc = pc, .size = size };

	if (slow_hit(c, arena_line(addr), true, sim.model->store)) {
		store_hit(c, addr, size, pc);
		return false;
	}
	engine_catch_up(c);
	if (!c->sb_n && fetch_hits(c, arena_line(addr), true, sim.model->store)) {
		store_hit(c, addr, size, pc);
		return false;
	}
	if (store_buffer_full(c, s.addr))
		wait_for_store_buffer(c, WAIT_SLOT);
	engine_catch_up(c);
	if (value) {
		s.delayed = true;
		s.value = *value;
		sim.delayed++;
	} else if (store_buffer_delayed(c, s.addr, size)) {
		store_buffer_write_values(c); /* a delayed value would overwrite this one later */
	}
	store_buffer_add(c, &s);
	c->stored = word_of(addr);
	if (c->sb_n == 1)
		store_buffer_advance(c, c->clock);
	c->clock += sim.model->store;
	return value;
}

static always_inline void slow_load(struct cpu *c, const volatile void *addr, uint32_t size,
				    const void *pc)
{
	uint64_t issued = c->clock;
	enum source source;

	if (slow_hit(c, arena_line(addr), false, sim.model->load_hit)) {
		c->clock += load_cost(c, addr);
		return;
	}
	if (c->sb_n && store_buffer_forwards(c, addr)) {
		/* A CPU that spins here for another value would keep all others from running. */
		engine_catch_up(c);
		c->clock += forward_cost(c);
		return;
	}
	source = fetch(c, arena_line(addr), false, false, sim.model->load_hit);
	c->clock += sim.model->load_hit;
	if (source != SOURCE_HIT)
		stats_add(&sim.stats, c->number, addr, size, ACCESS_LOAD, pc, c->clock - issued,
			  source);
}

static void locked_done(struct cpu *c, const volatile void *addr, uint32_t size, const void *pc,
			uint64_t cycles, enum source source)
{
	c->stored = AFTER_LOCKED;
	stats_add(&sim.stats, c->number, addr, size, ACCESS_RMW, pc, cycles, source);
}

/*
 * A locked operation that does not hit at once. @far: may the line's home execute it? @op: the
 * picoseconds that it takes on a line that the core owns.
 */
static always_inline void slow_locked(struct cpu *c, const volatile void *addr, uint32_t size,
				      bool far, uint64_t op, const void *pc)
{
	uint64_t issued;
	enum source source;

	if (slow_hit(c, arena_line(addr), true, op)) {
		c->clock += op;
		locked_done(c, addr, size, pc, op, SOURCE_HIT);
		return;
	}
	issued = c->clock;
	drain(c, sim.model->waits_by_store ? WAIT_FENCED : WAIT_EMPTY);
	if (sim.model->waits_by_store)
		issued = c->clock;
	source = fetch(c, arena_line(addr), true, far && sim.model->far_atomics, op);
	/* If the home executed the operation, the core continues at once. */
	if (!sim.coherence.req[request_of(c->number, false)].far || source == SOURCE_HIT)
		c->clock += op;
	locked_done(c, addr, size, pc, c->clock - issued, source);
}

/* Does the locked operation hit? If so, charge and count it. */
static inline bool locked_hits(struct cpu *c, const volatile void *addr, uint32_t size, uint64_t op,
			       const void *pc)
{
	uint32_t line = arena_line(addr);

	if (!fast_hit(c, touch(line), line, true, op))
		return false;
	c->clock += op;
	locked_done(c, addr, size, pc, op, SOURCE_HIT);
	return true;
}

/* The CPU whose access is simulated; NULL outside sim_run() and outside the arena. */
static inline struct cpu *simulated(const volatile void *addr)
{
	return likely(arena_contains(addr)) ? sim.running : NULL;
}

/* ---- sim.h ---- */

enum source sim_take_source(void)
{
	enum source source = (enum source)sim.running->fetch.source;

	sim.running->fetch.source = SOURCE_HIT;
	return source;
}

void sim_recount(const void *pc)
{
	stats_recount(&sim.stats, pc);
}

/* ---- sim_threads.h ---- */

void sim_locked_alone(void)
{
	struct cpu *c = sim.running;

	engine_catch_up(c);
	drain(c, WAIT_FENCED); /* the locked operation itself is in no record */
	c->stored = AFTER_LOCKED;
	c->clock += sim.model->locked;
}

/* ---- backend.h ---- */

static noinline uint64_t load_and_read(struct cpu *c, const volatile void *addr, uint32_t size,
				       const void *pc)
{
	slow_load(c, addr, size, pc);
	return c->sb_n ? store_buffer_value(c, addr, size) : sim_raw_read(sim_memory(addr), size);
}

uint64_t sim_load(const volatile void *addr, unsigned int size, int mo, const void *pc)
{
	struct cpu *c = simulated(addr);

	if (c) {
		uint32_t line = arena_line(addr);

		begin_load(c);
		if (!fast_hit(c, touch(line), line, false, sim.model->load_hit))
			return load_and_read(c, addr, size, pc);
		c->clock += load_cost(c, addr);
	}
	return sim_raw_read(sim_memory(addr), size);
}

static noinline void store_and_write(struct cpu *c, volatile void *addr, uint32_t size,
				     uint64_t val, const void *pc)
{
	if (!slow_store(c, addr, size, &val, pc))
		sim_raw_write(sim_memory(addr), size, val);
}

static noinline void exchange(struct cpu *c, volatile void *addr, uint32_t size, uint64_t val,
			      const void *pc)
{
	if (!locked_hits(c, addr, size, sim.model->locked, pc))
		slow_locked(c, addr, size, true, sim.model->locked, pc);
	sim_raw_write(sim_memory(addr), size, val);
}

void sim_store(volatile void *addr, unsigned int size, uint64_t val, int mo, const void *pc)
{
	struct cpu *c = simulated(addr);

	if (c) {
		uint32_t line = arena_line(addr);

		watchdog_progress();
		/* A seq_cst store is an xchg on x86. */
		if (mo == SEQ_CST) {
			exchange(c, addr, size, val, pc);
			return;
		}
		if (!fast_hit(c, touch(line), line, true, sim.model->store)) {
			store_and_write(c, addr, size, val, pc);
			return;
		}
		store_hit(c, addr, size, pc);
	}
	sim_raw_write(sim_memory(addr), size, val);
}

static inline uint64_t rmw_value(volatile void *addr, uint32_t size, enum sim_rmw_op op,
				 uint64_t operand)
{
	uint64_t old = sim_raw_rmw(sim_memory(addr), size, op, operand);

	if (sim_rmw_result(op, old, operand) != old)
		watchdog_progress();
	return old;
}

static noinline uint64_t slow_rmw(struct cpu *c, volatile void *addr, uint32_t size,
				  enum sim_rmw_op op, uint64_t operand, const void *pc)
{
	slow_locked(c, addr, size, true, sim.model->locked, pc);
	return rmw_value(addr, size, op, operand);
}

uint64_t sim_rmw(volatile void *addr, unsigned int size, enum sim_rmw_op op, uint64_t operand,
		 int mo, const void *pc)
{
	struct cpu *c = simulated(addr);

	if (c && !locked_hits(c, addr, size, sim.model->locked, pc))
		return slow_rmw(c, addr, size, op, operand, pc);
	return rmw_value(addr, size, op, operand);
}

bool sim_cas(volatile void *addr, unsigned int size, uint64_t *expected, uint64_t desired, int mo,
	     const void *pc)
{
	struct cpu *c = simulated(addr);

	/* A failing cmpxchg also takes the line exclusively. */
	if (c && !locked_hits(c, addr, size, sim.model->locked, pc))
		slow_locked(c, addr, size, false, sim.model->locked, pc);
	if (!sim_raw_cas(sim_memory(addr), size, expected, desired))
		return false;
	watchdog_progress();
	return true;
}

void sim_fence(int mo, const void *pc)
{
	struct cpu *c = sim.running;

	if (!c || mo != SEQ_CST)
		return;
	drain(c, WAIT_FENCED);
	c->clock += sim.model->fence;
}

void sim_relax_takes(uint64_t ps)
{
	sim.relax = ps;
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
	/* The compiled code will read memory itself. */
	if (c->sb_n && store_buffer_delayed(c, (uint64_t)(uintptr_t)addr, size))
		store_buffer_write_values(c);
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
		watchdog_progress();
		if (likely(fast_hit(c, touch(line), line, true, sim.model->store)))
			store_hit(c, addr, size, pc);
		else
			slow_plain_store(c, addr, size, pc);
	} else {
		begin_load(c);
		if (likely(fast_hit(c, touch(line), line, false, sim.model->load_hit)))
			c->clock += load_cost(c, addr);
		else
			slow_plain_load(c, addr, size, pc);
	}
}
