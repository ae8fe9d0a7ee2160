// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A slot never mixes events of two rounds of the wheel. No event is before the one popped last, and
 * an event enters the wheel only if it is less than WHEEL_SLOTS slots after the one popped last. So
 * if two events of the wheel have different slot numbers, these differ modulo WHEEL_SLOTS.
 */
#include "events.h"

#include <stdlib.h>
#include <string.h>

void events_init(struct events *e)
{
	memset(e, 0, sizeof(*e));
	memset(e->slot, 0xff, sizeof(e->slot));
	e->free = NO_NODE;
	e->first.time = UINT64_MAX;
}

void events_free(struct events *e)
{
	free(e->node);
	free(e->far);
	e->node = NULL;
	e->far = NULL;
}

static void *grown(void *array, size_t n, size_t size)
{
	array = realloc(array, n * size);
	if (!array)
		abort();
	return array;
}

/* ---- beyond the wheel: a binary heap ---- */

void events_push_far(struct events *e, struct event ev)
{
	uint32_t i;

	if (e->nr_far == e->cap_far) {
		e->cap_far = e->cap_far ? 2 * e->cap_far : 256;
		e->far = grown(e->far, e->cap_far, sizeof(*e->far));
	}
	for (i = e->nr_far++; i && event_before(&ev, &e->far[(i - 1) / 2]); i = (i - 1) / 2)
		e->far[i] = e->far[(i - 1) / 2];
	e->far[i] = ev;
}

void events_pop_far(struct events *e)
{
	struct event last = e->far[--e->nr_far];
	uint32_t i = 0, c;

	while ((c = 2 * i + 1) < e->nr_far) {
		if (c + 1 < e->nr_far && event_before(&e->far[c + 1], &e->far[c]))
			c++;
		if (!event_before(&e->far[c], &last))
			break;
		e->far[i] = e->far[c];
		i = c;
	}
	e->far[i] = last;
}

/* ---- the wheel ---- */

void events_more_nodes(struct events *e)
{
	uint32_t old = e->nr_nodes;

	e->nr_nodes = old ? 2 * old : 1024;
	e->node = grown(e->node, e->nr_nodes, sizeof(*e->node));
	for (uint32_t i = old; i < e->nr_nodes; i++)
		e->node[i].next = i + 1 < e->nr_nodes ? i + 1 : NO_NODE;
	e->free = old;
}
