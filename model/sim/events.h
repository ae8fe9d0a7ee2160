/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * events.h - the queue of future events: a timing wheel of (time, what).
 *
 * Nearly all events are within a few microseconds of simulated time. A slot of the wheel seldom
 * contains more than one event, and a bit search finds the next one. (A heap spent 40% of the
 * simulator's time in mispredicted comparisons.) Events beyond the wheel wait in a heap; each pop
 * compares the first events of both.
 *
 * No event may be before the one that was popped last: time does not run backwards.
 *
 * Events with the same time come in the order of @what, so a run repeats exactly.
 */
#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#define WHEEL_SLOTS	 4096u
#define WHEEL_SLOT_SHIFT 10 /* 1,024 picoseconds per slot; the wheel spans 4.2 us */
#define NO_NODE		 UINT32_MAX
#define NEVER		 (UINT64_MAX / 2) /* a time; adding to it cannot overflow */

enum event_kind {
	EVENT_PICK,   /* a line's ordering point looks at its queue */
	EVENT_COMMIT, /* the oldest entry of a CPU's store buffer has its line, or may be sent */
	EVENT_TIMER,  /* a CPU ends computing, or takes an interrupt */
	EVENT_RESUME, /* a CPU continues */
	EVENT_ALARM,  /* see sim_threads.h */
};

struct event {
	uint64_t time;
	uint64_t what; /* kind << 32 | line or CPU */
};

struct event_node {
	struct event ev;
	uint32_t next;
};

/**
 * struct events - all future events
 * @first: the next one; time UINT64_MAX when there is none
 * @now: slot number (time >> WHEEL_SLOT_SHIFT) of the event popped last
 * @used: one bit per slot that is not empty
 * @used_words: one bit per word of @used that is not 0
 * @slot: first node of each slot's list, sorted
 * @node: all nodes; @free links those not in use
 * @far: heap of the events beyond the wheel
 */
struct events {
	struct event first;
	uint64_t now;
	uint64_t used[WHEEL_SLOTS / 64];
	uint64_t used_words;
	uint32_t slot[WHEEL_SLOTS];
	struct event_node *node;
	uint32_t free, nr_nodes;
	struct event *far;
	uint32_t nr_far, cap_far;
};

void events_init(struct events *e);
void events_free(struct events *e);

static inline bool event_before(const struct event *a, const struct event *b)
{
	return a->time != b->time ? a->time < b->time : a->what < b->what;
}

/* The rare cases of the functions below. */
void events_more_nodes(struct events *e);
void events_push_far(struct events *e, struct event ev);
void events_pop_far(struct events *e);

static inline uint32_t events_slot(uint64_t time)
{
	return (uint32_t)(time >> WHEEL_SLOT_SHIFT) % WHEEL_SLOTS;
}

static inline void events_push(struct events *e, uint64_t time, enum event_kind kind, uint32_t id)
{
	struct event ev = { time, (uint64_t)kind << 32 | id };

	if ((time >> WHEEL_SLOT_SHIFT) - e->now < WHEEL_SLOTS) {
		uint32_t s = events_slot(time), *link = &e->slot[s], n;

		if (e->free == NO_NODE)
			events_more_nodes(e);
		n = e->free;
		e->free = e->node[n].next;
		while (*link != NO_NODE && event_before(&e->node[*link].ev, &ev))
			link = &e->node[*link].next;
		e->node[n].ev = ev;
		e->node[n].next = *link;
		*link = n;
		e->used[s / 64] |= 1ull << (s % 64);
		e->used_words |= 1ull << (s / 64);
	} else {
		events_push_far(e, ev);
	}
	if (event_before(&ev, &e->first))
		e->first = ev;
}

/*
 * The first slot in use after the empty slot @from, with wrap-around. The wheel must not be empty.
 */
static inline uint32_t events_next_slot(const struct events *e, uint32_t from)
{
	uint32_t w = from / 64;
	uint64_t bits = e->used[w] & ~0ull << (from % 64), words;

	if (!bits) {
		words = w == 63 ? 0 : e->used_words & ~0ull << (w + 1);
		if (!words)
			words = e->used_words; /* wrap: may return to the low bits of word w */
		w = (uint32_t)__builtin_ctzll(words);
		bits = e->used[w];
	}
	return w * 64 + (uint32_t)__builtin_ctzll(bits);
}

/** events_pop - take the next event; there must be one. */
static inline struct event events_pop(struct events *e)
{
	struct event ev = e->first;
	uint32_t s = events_slot(ev.time), n = e->slot[s];

	e->now = ev.time >> WHEEL_SLOT_SHIFT;
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
		events_pop_far(e);
	}
	if (e->slot[s] != NO_NODE)
		e->first = e->node[e->slot[s]].ev;
	else if (e->used_words)
		e->first = e->node[e->slot[events_next_slot(e, s)]].ev;
	else
		e->first.time = UINT64_MAX;
	if (e->nr_far && event_before(&e->far[0], &e->first))
		e->first = e->far[0];
	return ev;
}

#endif
