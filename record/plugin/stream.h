/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * stream.h - the items of one guest CPU, on their way from its thread to the model's.
 *
 *                stream_push   stream_pop   stream_empty
 *  stream_push       -(1)          ok            ok
 *  stream_pop         ok          -(2)           ok
 *
 *  (1) one thread pushes: the vCPU's. (2) one thread pops: the model's.
 *
 * stream_push() never waits: the emulator must be able to stop a vCPU's thread at any time.
 * Otherwise a thread could wait here for the model, and the model for another vCPU. If the emulator
 * has stopped that vCPU on behalf of this thread, thread and model deadlock.
 */
#ifndef PLUGIN_STREAM_H
#define PLUGIN_STREAM_H

#include "item.h"

#define STREAM_CHUNK 2048u

struct stream_chunk {
	struct stream_chunk *next;
	uint64_t first; /* number of its first item */
	struct item item[STREAM_CHUNK];
};

struct stream {
	/* Fields of the pushing thread. */
	struct stream_chunk *tail __attribute__((aligned(64)));
	uint64_t pushed; /* the pushing thread writes it, both threads read it */
	/* Fields of the popping thread. */
	struct stream_chunk *head __attribute__((aligned(64)));
	uint64_t popped;
};

int stream_init(struct stream *s);
void stream_free(struct stream *s);

/** stream_push - append an item. Ordering: release; stream_pop() acquires. */
void stream_push(struct stream *s, const struct item *item);

/** stream_pop - take the oldest item. Return: false when there is none. */
bool stream_pop(struct stream *s, struct item *item);

static inline bool stream_empty(const struct stream *s)
{
	return __atomic_load_n(&s->pushed, __ATOMIC_ACQUIRE) == s->popped;
}

#endif
