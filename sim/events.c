// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why slots never mix two rounds of the wheel: an event enters the wheel only if its slot
 * number is less than WHEEL_SLOTS ahead of that of the event popped last, and none lies
 * before that one; so all events in the wheel have different slot numbers modulo WHEEL_SLOTS
 * or the same slot number.
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

static void far_push(struct events *e, struct event ev)
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

static void far_pop(struct events *e)
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

static uint32_t new_node(struct events *e)
{
	uint32_t n = e->free;

	if (n == NO_NODE) {
		uint32_t old = e->nr_nodes;

		e->nr_nodes = old ? 2 * old : 1024;
		e->node = grown(e->node, e->nr_nodes, sizeof(*e->node));
		for (uint32_t i = old; i < e->nr_nodes; i++)
			e->node[i].next = i + 1 < e->nr_nodes ? i + 1 : NO_NODE;
		n = old;
	}
	e->free = e->node[n].next;
	return n;
}

static void wheel_push(struct events *e, struct event ev)
{
	uint32_t s = (uint32_t)(ev.time >> WHEEL_SLOT_SHIFT) % WHEEL_SLOTS, n = new_node(e);
	uint32_t *link = &e->slot[s];

	while (*link != NO_NODE && event_before(&e->node[*link].ev, &ev))
		link = &e->node[*link].next;
	e->node[n].ev = ev;
	e->node[n].next = *link;
	*link = n;
	e->used[s / 64] |= 1ull << (s % 64);
	e->used_words |= 1ull << (s / 64);
}

/* First slot in use at or after @from, going round; WHEEL_SLOTS when the wheel is empty. */
static uint32_t next_slot(const struct events *e, uint32_t from)
{
	uint32_t w = from / 64;
	uint64_t bits = e->used[w] & ~0ull << (from % 64), words;

	if (bits)
		return w * 64 + (uint32_t)__builtin_ctzll(bits);
	if (!e->used_words)
		return WHEEL_SLOTS;
	words = w == 63 ? 0 : e->used_words & ~0ull << (w + 1);
	if (!words)
		words = e->used_words; /* round: may come back to the low bits of word w */
	w = (uint32_t)__builtin_ctzll(words);
	return w * 64 + (uint32_t)__builtin_ctzll(e->used[w]);
}

static void find_first(struct events *e)
{
	uint32_t s = next_slot(e, (uint32_t)e->now % WHEEL_SLOTS);

	if (s < WHEEL_SLOTS)
		e->first = e->node[e->slot[s]].ev;
	else
		e->first.time = UINT64_MAX;
	if (e->nr_far && event_before(&e->far[0], &e->first))
		e->first = e->far[0];
}

void events_push(struct events *e, uint64_t time, enum event_kind kind, uint32_t id)
{
	struct event ev = { time, (uint64_t)kind << 32 | id };

	if ((time >> WHEEL_SLOT_SHIFT) - e->now < WHEEL_SLOTS)
		wheel_push(e, ev);
	else
		far_push(e, ev);
	if (event_before(&ev, &e->first))
		e->first = ev;
}

struct event events_pop(struct events *e)
{
	struct event ev = e->first;
	uint32_t s = (uint32_t)(ev.time >> WHEEL_SLOT_SHIFT) % WHEEL_SLOTS, n = e->slot[s];

	if (n != NO_NODE && e->node[n].ev.time == ev.time && e->node[n].ev.what == ev.what) {
		e->slot[s] = e->node[n].next;
		e->node[n].next = e->free;
		e->free = n;
		if (e->slot[s] == NO_NODE) {
			e->used[s / 64] &= ~(1ull << (s % 64));
			if (!e->used[s / 64])
				e->used_words &= ~(1ull << (s / 64));
		}
	} else {
		far_pop(e);
	}
	e->now = ev.time >> WHEEL_SLOT_SHIFT;
	find_first(e);
	return ev;
}
