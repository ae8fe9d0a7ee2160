/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* private.h - memory, and the timers of a CPU; neither costs simulated time. */
#ifndef EXPERIMENTS_RT_PRIVATE_H
#define EXPERIMENTS_RT_PRIVATE_H

#include <stdlib.h>

#include "port.h"

static inline void *zalloc(size_t n, size_t size)
{
	void *p = n ? calloc(n, size) : NULL;

	if (!p)
		abort(); /* no allocation here is empty */
	return p;
}

/* Return: @array, with room for one more than @n elements. @cap: elements for which it has room. */
static inline void *grown(void *array, u32 n, u32 *cap, size_t size)
{
	if (n < *cap)
		return array;
	*cap = *cap ? 2 * *cap : 64;
	array = realloc(array, *cap * size);
	if (!array)
		abort();
	return array;
}

/* Timers, sorted by time; the next one to expire is the last. */
struct timers {
	struct timer {
		u64 when;
		void *task;
	} * timer;
	u32 nr, cap;
};

static inline void timers_add(struct timers *t, u64 when, void *task)
{
	u32 i;

	t->timer = grown(t->timer, t->nr, &t->cap, sizeof(*t->timer));
	for (i = t->nr++; i > 0 && t->timer[i - 1].when <= when; i--)
		t->timer[i] = t->timer[i - 1];
	t->timer[i] = (struct timer){ when, task };
}

static inline u64 timers_next(const struct timers *t)
{
	return t->nr ? t->timer[t->nr - 1].when : UINT64_MAX;
}

static inline void *timers_take(struct timers *t)
{
	return t->timer[--t->nr].task;
}

#endif
