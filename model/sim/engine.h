/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * engine.h - how a body waits for other CPUs. Private to the timing backend.
 *
 * Context: the functions may switch to another fiber before they return.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "fetch.h"
#include "fiber.h"

/** engine_next - process events until one resumes a CPU; NULL when all bodies have returned. */
struct cpu *engine_next(void);

/* Let @c wait for an EVENT_RESUME that the caller or another CPU has scheduled. */
static inline void engine_block(struct cpu *c)
{
	struct cpu *next = engine_next();

	if (next == c)
		return;
	sim.running = next;
	fiber_switch(c->fiber, next->fiber);
}

static inline void engine_catch_up(struct cpu *c)
{
	if (fetch_must_wait(c))
		engine_block(c);
}

#endif
