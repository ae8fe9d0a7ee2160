// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The states of a line, why they describe the hardware well, and where they do not.
 *
 * A line is in one of three states. Owned: one core has it exclusively, modified or not. Shared:
 * any number of cores have unmodified copies. Uncached. A copy is a pair (line, version) in the
 * core's table. It is valid while the line has the same version. A write raises the version, which
 * invalidates all copies without touching any core's table.
 *
 * ordering_point.c describes how a request gets the line, and how long that takes.
 *
 * SMT: each thread of a core sends its own write requests. If other cores wait, the line comes to a
 * core once per sibling, and does not stay for both. Published times of a counter on 8 sockets show
 * this beyond 224 threads (one per core). If only its sibling waits, a thread waits for the latency
 * between siblings. A load waits for its sibling's request (coherence_park()).
 *
 * Not modelled: capacity, bandwidth of links and banks, prefetchers, the O state of MOESI. In the
 * model a core remembers 4,096 lines, direct mapped, and an LLC never evicts. A dirty line that
 * another core of the package reads is written back at no cost.
 */
#include "coherence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "coherence_hit.h"
#include "line_queue.h"

int coherence_init(struct coherence *c, const struct model *model)
{
	memset(c, 0, sizeof(*c));
	c->model = model;
	events_init(&c->events);
	c->req = calloc(2 * (size_t)model->nr_cpus, sizeof(*c->req));
	c->reach = 2 * model->nearest;
	c->lines.copy = calloc((size_t)model->nr_cores * COPY_SLOTS, sizeof(struct copy));
	c->lines.copy_words = (model->nr_groups + 63) / 64;
	return c->req && c->lines.copy ? 0 : -1;
}

void coherence_free(struct coherence *c)
{
	for (uint32_t i = 0; i < c->lines.n; i++) {
		line_queue_free(&c->lines.line[i]);
		free(c->lines.line[i].copies);
	}
	free(c->lines.line);
	free(c->lines.copy);
	free(c->req);
	events_free(&c->events);
	memset(c, 0, sizeof(*c));
}

static void grow(struct coherence *c, uint32_t needed)
{
	uint32_t n = c->lines.n ? c->lines.n : 1024;
	struct line *line;

	while (n <= needed)
		n *= 2;
	line = aligned_alloc(_Alignof(struct line), n * sizeof(*line));
	if (!line)
		abort();
	if (c->lines.n)
		memcpy(line, c->lines.line, c->lines.n * sizeof(*line));
	memset(line + c->lines.n, 0, (n - c->lines.n) * sizeof(*line));
	free(c->lines.line);
	c->lines.line = line;
	c->lines.n = n;
}

void coherence_first_touch(struct coherence *c, uint32_t line)
{
	const struct model *m = c->model;
	int node = arena_object_of(line)->node;
	struct line *l;

	if (line >= c->lines.n)
		grow(c, line);
	l = &c->lines.line[line];
	if (node < 0 || (uint32_t)node >= m->nr_nodes)
		node = (int)(line % m->nr_nodes);
	l->home.package = (uint16_t)m->node_package[node];
	l->owner = NO_CORE;
	l->current = NO_REQ;
	l->solo = NO_REQ;
	l->random = line * 2654435761u ^ (uint32_t)c->seed ^ 0x9e3779b9u;
	l->writer = NO_CPU;
	l->home.far_core = NO_CORE;
	l->turn.group = UINT32_MAX;
	l->turn.package = UINT32_MAX;
	l->lose_at = NEVER;
	l->pick_at = NEVER;
	l->constant = arena_is_constant(line);
	l->known = true;
}

void coherence_not_constant(uint32_t line)
{
	fprintf(stderr, "schedshard: a write to line %u of \"%s\", which was declared constant\n",
		line, arena_object_of(line)->name);
	abort();
}

/* The bit of a CPU among the threads of its core. */
static uint8_t thread_bit(const struct coherence *c, uint32_t cpu)
{
	const struct model_core *core = &c->model->core[c->model->cpu[cpu].core];
	uint32_t t = 0;

	while (core->cpu[t] != cpu)
		t++;
	return (uint8_t)(1u << t);
}

bool coherence_sibling_hit(struct coherence *c, struct line *l, uint32_t cpu, bool write,
			   uint64_t *extra)
{
	l->siblings = true;
	if (write)
		return false;
	if (!(l->seen & thread_bit(c, cpu))) {
		l->seen |= thread_bit(c, cpu);
		*extra = c->model->smt_read;
		/* The store was free, so the load pays the latency between siblings. */
		if (l->plain && c->model->smt > c->model->load_hit)
			*extra += c->model->smt - c->model->load_hit;
	}
	return true;
}

bool coherence_sibling_store(struct coherence *c, uint32_t cpu, uint32_t core, uint32_t line,
			     uint64_t op, uint64_t now)
{
	struct line *l = line_of(c, line);

	if (l->owner != core || now + op > l->lose_at)
		return false;
	if (now < l->have_at)
		return l->stayed; /* the sibling's turn follows, and makes it the last writer */
	l->writer = cpu;
	l->dirty = true;
	l->plain = true;
	l->seen = thread_bit(c, cpu);
	return true;
}

bool coherence_park(struct coherence *c, uint32_t cpu, uint32_t line)
{
	const struct model_core *core = &c->model->core[c->model->cpu[cpu].core];
	uint32_t self = 0;

	while (core->cpu[self] != cpu)
		self++;
	for (uint32_t t = 0; t < core->nr_cpus; t++) {
		for (int sb = 0; sb < 2; sb++) {
			struct request *r = &c->req[request_of(core->cpu[t], sb)];

			if (r->active && r->line == line) {
				r->parked |= (uint8_t)(1u << self);
				return true;
			}
		}
	}
	return false;
}

static void make_copies(struct coherence *c, struct line *l)
{
	if (!l->copies)
		l->copies = calloc(c->lines.copy_words, sizeof(*l->copies));
	if (!l->copies)
		abort();
}

void coherence_handover(struct coherence *c, struct line *l, uint32_t line)
{
	struct request *r = &c->req[l->current];
	uint32_t me = c->model->cpu[l->current / 2].core;
	uint32_t group = c->model->core[me].group;

	if (r->far) {
		/* The home has executed the operation and has the line; no core has it. */
		if (l->shared)
			memset(l->copies, 0, c->lines.copy_words * sizeof(*l->copies));
		l->shared = false;
		l->version++;
		l->owner = NO_CORE;
		l->writer = NO_CPU;
		l->home.has_line = true;
		l->home.far_core = me;
	} else if (r->write || (l->owner == NO_CORE && !l->shared)) {
		/* Exclusive from now on: after a write, or for the first reader. */
		if (l->shared)
			memset(l->copies, 0, c->lines.copy_words * sizeof(*l->copies));
		l->shared = false;
		l->version++;
		/* Not set by buffered stores: siblings that only store take turns (Zen 4). */
		l->stayed = l->owner == me && !(l->current & 1);
		l->owner = me;
		l->dirty = r->write;
		l->have_at = r->granted;
		l->first_done = r->granted + r->op;
		l->home.far_core = NO_CORE;
		l->writer = r->write ? l->current / 2 : NO_CPU;
		l->seen = 0;
		l->plain = false;
	} else {
		make_copies(c, l);
		if (l->owner != NO_CORE && l->owner != me) {
			uint32_t from = c->model->core[l->owner].group;

			*copy_of(c, l->owner, line) = (struct copy){ line, l->version };
			l->copies[from / 64] |= 1ull << (from % 64);
			l->owner = NO_CORE;
			l->dirty = false;
		}
		l->shared = true;
		l->settled = l->constant && arena_lines() <= COPY_SLOTS;
		l->copies[group / 64] |= 1ull << (group % 64);
	}
	r->version = l->version;
	l->lose_at = NEVER;
	l->current = NO_REQ;
}

void coherence_resume(struct coherence *c, uint32_t req)
{
	struct request *r = &c->req[req];
	const struct model_core *core = core_of(c, req);

	coherence_settle(c, line_of(c, r->line), r->line, r->granted);
	r->active = false;
	if (!r->write)
		*copy_of(c, c->model->cpu[req / 2].core, r->line) =
			(struct copy){ r->line, r->version };
	/*
	 * Resume siblings one picosecond before the operation ends. Their request then comes first,
	 * and the thread that had the line waits for it. If both resumed at the same time, the
	 * lower-numbered thread would always win.
	 */
	for (uint32_t t = 0; t < core->nr_cpus; t++)
		if (r->parked >> t & 1)
			events_push(&c->events, r->granted + r->op - 1, EVENT_RESUME, core->cpu[t]);
	r->parked = 0;
}
