// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The event loop of the timing backend. It runs bodies in the order of their clocks.
 *
 * Why the order is right: a CPU acts on shared state only in two cases. In the first, no event and
 * no other CPU's clock is earlier than its own clock. In the second, its core has the line, and no
 * CPU can take the line away before the access ends (coherence_hit.h). After a miss a CPU waits
 * until its clock is the earliest.
 *
 * The files of the backend; each uses only those after it:
 *
 *  engine_access.c   charges each access of a body (backend.h)
 *  engine_body.c     the other calls of a body: time, interrupts, observers (sim.h)
 *  engine_threads.c  CPUs that run the fibers of a program (sim_threads.h)
 *  engine.c          this file
 *  fetch.h           the steps of a miss
 *  store_buffer.c    when a store becomes visible
 *  watchdog.h        ends a simulation in which nothing happens any more
 *  engine_state.c    the CPUs: made, freed, read by reports
 */
#include "engine.h"

#include "sim.h"
#include "store_buffer.h"
#include "watchdog.h"

noinline struct cpu *engine_next(void)
{
	while (likely(sim.bodies)) {
		struct cpu *c;
		struct event ev;
		uint32_t id;

		if (unlikely(sim.coherence.events.first.time == UINT64_MAX)) {
			if (sim.stuck && sim.stuck())
				continue;
			watchdog_give_up("all simulated CPUs are idle, and nothing wakes them");
		}
		ev = events_pop(&sim.coherence.events);
		id = (uint32_t)ev.what;

		switch ((enum event_kind)(ev.what >> 32)) {
		case EVENT_PICK:
			ordering_pick(&sim.coherence, id, ev.time);
			break;
		case EVENT_COMMIT:
			store_buffer_commit(&sim.cpu[id], ev.time);
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
			/* A fetch that must wait again needs no switch to the CPU's fiber. */
			if (!c->fetch.state || fetch_step(c))
				return c;
			break;
		case EVENT_ALARM:
			sim.alarm(id, ev.time);
			break;
		}
	}
	return NULL;
}

static void cpu_main(void *arg)
{
	struct cpu *c = arg, *next;

	sim.running = c;
	c->body(c->number, c->arg);
	if (c->clock > sim.finished_at)
		sim.finished_at = c->clock;
	c->returned = true;
	sim.bodies--;
	next = engine_next();
	sim.running = next;
	c->fiber->return_to = next ? next->fiber : &sim.main;
}

void sim_spawn(uint32_t cpu, void (*body)(uint32_t cpu, void *arg), void *arg, uint64_t start)
{
	struct cpu *c = &sim.cpu[cpu];

	c->body = body;
	c->arg = arg;
	c->clock = start;
	c->returned = false;
	fiber_start(c->fiber, cpu_main, c, &sim.main);
	events_push(&sim.coherence.events, start, EVENT_RESUME, cpu);
	sim.bodies++;
}

uint64_t sim_run(void)
{
	struct cpu *first = engine_next();

	if (first) {
		sim.running = first;
		fiber_switch(&sim.main, first->fiber);
	}
	sim.running = NULL;
	/* Write the stores of bodies that returned with entries in their buffers. */
	for (uint32_t i = 0; i < sim.model->nr_cpus; i++)
		store_buffer_write_values(&sim.cpu[i]);
	return sim.finished_at;
}
