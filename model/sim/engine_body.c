// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The functions of sim.h that a body may call: clock, computing, interrupts, observers. */
#include <stdlib.h>

#include "engine.h"
#include "sim.h"
#include "store_buffer.h"

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

	engine_catch_up(c); /* otherwise the CPU would miss an interrupt that was sent earlier */
	if (c->irq_at > c->clock) {
		c->timer_at = c->irq_at < end ? c->irq_at : end;
		c->computing = true;
		if (c->timer_at < NEVER)
			events_push(&sim.coherence.events, c->timer_at, EVENT_TIMER, c->number);
		engine_block(c);
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

	/* The receiver sees the sender's stores, because Linux drains the store buffer here. */
	store_buffer_write_values(sim.running);
	engine_catch_up(sim.running); /* otherwise the receiver may miss this interrupt */
	if (at >= c->irq_at)
		return;
	c->irq_at = at;
	if (c->computing && at < c->timer_at) {
		c->timer_at = at;
		events_push(&sim.coherence.events, at, EVENT_TIMER, cpu);
	}
}

void sim_observe(void (*look)(void *arg), void *arg)
{
	struct cpu *c = sim.running;
	uint64_t *before = sim.delayed ? store_buffers_show() : NULL;

	sim.running = NULL;
	look(arg);
	sim.running = c;
	if (before)
		store_buffers_take_back(before);
	free(before);
}
