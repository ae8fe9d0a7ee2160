/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * fetch.h - a miss of a CPU, step by step, inline for the event loop and for accesses.
 *
 * No step switches fibers. So the event loop can take the next step of a waiting CPU without a
 * switch to its fiber.
 */
#ifndef SIM_FETCH_H
#define SIM_FETCH_H

#include "coherence_hit.h"
#include "engine_state.h"

/*
 * Must others catch up to this CPU's clock? If so, an EVENT_RESUME comes for this CPU when they
 * have. At equal times events of lines come first (see enum event_kind), then CPUs by number.
 */
static inline bool fetch_must_wait(struct cpu *c)
{
	struct events *e = &sim.coherence.events;
	struct event self = { c->clock, (uint64_t)EVENT_RESUME << 32 | c->number };

	if (!event_before(&e->first, &self))
		return false;
	events_push(e, c->clock, EVENT_RESUME, c->number);
	return true;
}

/* Does the access hit? All events up to @c's clock must have happened. */
static inline bool fetch_hits(struct cpu *c, uint32_t line, bool write, uint64_t op)
{
	uint64_t extra;

	if (!coherence_hit(&sim.coherence, c->number, c->core, line, write, op, c->clock,
			   c->clock + 1, &extra))
		return false;
	c->clock += extra;
	return true;
}

/*
 * Run a fetch until it must wait for other CPUs. Return: true when the core may access the line
 * once; else an EVENT_RESUME will come.
 */
static inline bool fetch_step(struct cpu *c)
{
	struct coherence *co = &sim.coherence;
	uint32_t req = request_of(c->number, false);

	switch ((enum fetch_state)c->fetch.state) {
	case FETCH_BEGIN:
		c->fetch.state = FETCH_CAUGHT_UP;
		if (fetch_must_wait(c))
			return false;
		/* fallthrough */
	case FETCH_CAUGHT_UP:
		if (fetch_hits(c, c->fetch.line, c->fetch.write, c->fetch.op))
			break;
		if (!c->fetch.write && coherence_park(co, c->number, c->fetch.line)) {
			c->fetch.state = FETCH_BEGIN;
			return false;
		}
		c->fetch.state = FETCH_SENT;
		ordering_submit(co, req, c->fetch.line, c->fetch.write, c->fetch.far, c->fetch.op,
				c->clock);
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

#endif
