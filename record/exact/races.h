/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* races.h - accesses of two threads to the same bytes that nothing orders. */
#ifndef EXACT_RACES_H
#define EXACT_RACES_H

#include <jansson.h>

#include "order.h"

/* The kind of an access. Two volatile or atomic accesses do not race. */
enum { RACES_WRITE = 1, RACES_ATOMIC = 2 };

/* Values of exact.races. */
enum { RACES_OFF, RACES_SHARED, RACES_ALL };

int races_begin(void);

/** races_access - the calling thread has accessed memory. @size: within a line */
void races_access(uint64_t at, uint32_t size, uint32_t how, const void *pc);

/** races_fence - order_fence() of the program, but not of this library */
void races_fence(int mo, const void *pc);

/** races_forget - forget the accesses to this memory: it was freed or has a new owner. */
void races_forget(uint64_t at, uint64_t size);

/** races_json - [address, size, thread, pc, how, thread, pc, how, times] of each pair of places */
json_t *races_json(void);

#endif
