// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why a CPU may change its fiber: the engine identifies a waiting CPU only by its number, and
 * switches to the fiber that the CPU has at that moment. A CPU changes its fiber in two cases. In
 * the first it is running the fiber that leaves, so no event of an access is pending. In the second
 * it is idle. The rest of its store buffer drains in events that need no fiber.
 */
#include "sim_threads.h"

#include "coherence_hit.h"
#include "engine.h"
#include "sim.h"

void sim_threads_begin(const struct sim_threads *t, uint32_t cpu, struct fiber *f)
{
	sim.real = t->real;
	sim.alarm = t->alarm;
	sim.stuck = t->stuck;
	sim.bodies = 1; /* the program ends by itself, not because no CPU runs */
	sim.running = &sim.cpu[cpu];
	sim.running->fiber = f;
}

void sim_threads_end(void)
{
	sim.running = NULL;
}

uint32_t sim_cpu(void)
{
	return sim.running->number;
}

uint64_t sim_clock_of(uint32_t cpu)
{
	return sim.cpu[cpu].clock;
}

void sim_run_fiber(uint32_t cpu, struct fiber *f, uint64_t at)
{
	uint64_t earliest = sim.coherence.events.now << WHEEL_SLOT_SHIFT;
	struct cpu *c = &sim.cpu[cpu];

	if (at < earliest)
		at = earliest;
	if (at > c->clock)
		c->clock = at;
	c->fiber = f;
	events_push(&sim.coherence.events, c->clock, EVENT_RESUME, cpu);
}

void sim_idle(void)
{
	struct fiber *self = sim.running->fiber;
	struct cpu *next = engine_next();

	sim.running = next;
	if (next->fiber != self)
		fiber_switch(self, next->fiber);
}

void sim_change(struct fiber *to)
{
	struct fiber *self = sim.running->fiber;

	sim.running->fiber = to;
	fiber_switch(self, to);
}

void sim_catch_up(void)
{
	engine_catch_up(sim.running);
}

void sim_alarm(uint64_t at, uint32_t id)
{
	struct events *e = &sim.coherence.events;
	uint64_t earliest = e->now << WHEEL_SLOT_SHIFT;

	events_push(e, at > earliest ? at : earliest, EVENT_ALARM, id);
}

void sim_has_line(uint32_t line, uint32_t cpu, bool written)
{
	struct line *l = line_of(&sim.coherence, line);

	l->owner = sim.cpu[cpu].core;
	l->version++;
	if (written) {
		l->dirty = true;
		l->writer = cpu;
	}
}
