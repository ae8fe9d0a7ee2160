/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * events.h - what happens next: a 4-ary heap of (time, what).
 *
 * Ties are broken by what, so that the order does not depend on the heap's shape, and a run
 * repeats exactly.
 */
#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum event_kind {
	EVENT_HANDOVER, /* a line leaves its owner; before everything else of that moment */
	EVENT_PICK,	/* a line's ordering point looks at its queue */
	EVENT_COMMIT,	/* the oldest entry of a CPU's store buffer has its line */
	EVENT_RESUME,	/* a CPU runs on */
};

struct event {
	uint64_t time;
	uint64_t what; /* kind << 32 | line or CPU */
};

struct event_heap {
	struct event *e;
	uint32_t n, cap;
};

static inline bool event_before(const struct event *a, const struct event *b)
{
	return a->time != b->time ? a->time < b->time : a->what < b->what;
}

static inline void event_push(struct event_heap *h, uint64_t time, enum event_kind kind,
			      uint32_t id)
{
	struct event ev = { time, (uint64_t)kind << 32 | id };
	uint32_t i;

	if (h->n == h->cap) {
		h->cap = h->cap ? 2 * h->cap : 1024;
		h->e = realloc(h->e, h->cap * sizeof(*h->e));
		if (!h->e)
			abort();
	}
	for (i = h->n++; i; i = (i - 1) / 4) {
		if (!event_before(&ev, &h->e[(i - 1) / 4]))
			break;
		h->e[i] = h->e[(i - 1) / 4];
	}
	h->e[i] = ev;
}

/* The heap must not be empty. */
static inline struct event event_pop(struct event_heap *h)
{
	struct event top = h->e[0], last = h->e[--h->n];
	uint32_t i = 0;

	for (;;) {
		uint32_t c = 4 * i + 1, best = c, end = c + 4 < h->n ? c + 4 : h->n;

		if (c >= h->n)
			break;
		for (uint32_t k = c + 1; k < end; k++)
			if (event_before(&h->e[k], &h->e[best]))
				best = k;
		if (!event_before(&h->e[best], &last))
			break;
		h->e[i] = h->e[best];
		i = best;
	}
	h->e[i] = last;
	return top;
}

#endif
