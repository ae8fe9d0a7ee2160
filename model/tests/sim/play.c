// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "arena.h"
#include "sim.h"
#include "toy.h"

struct played toy_play(struct script *script, size_t n)
{
	struct played p = { .line = arena_alloc(64, 0, "line", NULL) };

	for (struct script *s = script; s < script + n; s++) {
		for (int i = 0; i < s->n; i++)
			if (!s->step[i].addr)
				s->step[i].addr = p.line;
		sim_spawn(s->cpu, toy_body, s, s->start);
	}
	p.took = sim_run();
	return p;
}
