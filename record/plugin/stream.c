// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A stream is a list of chunks. The pushing thread links the chunk of an item before @pushed covers
 * the item, so that a reader of @pushed finds the chunk. The popping thread frees a chunk when it
 * needs the next one, which then exists because it holds the next item.
 *
 * A pushing process may be killed at any instruction, and another one continues. If a chunk was
 * linked for the next item but is still empty, the other process knows the chunk by its number.
 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

static struct stream_chunk *new_chunk(uint64_t first)
{
	struct stream_chunk *chunk = memory.chunk(sizeof(*chunk));

	if (chunk) {
		chunk->next = NULL;
		chunk->first = first;
	}
	return chunk;
}

int stream_init(struct stream *s)
{
	memset(s, 0, sizeof(*s));
	s->head = s->tail = new_chunk(0);
	return s->head ? 0 : -1;
}

void stream_free(struct stream *s)
{
	while (s->head) {
		struct stream_chunk *next = s->head->next;

		memory.drop(s->head);
		s->head = next;
	}
	s->tail = NULL;
}

void stream_push(struct stream *s, const struct item *item)
{
	uint64_t n = s->pushed;

	if (n % STREAM_CHUNK == 0 && s->tail->first != n) {
		if (!s->tail->next)
			s->tail->next = new_chunk(n);
		if (!s->tail->next)
			abort();
		s->tail = s->tail->next;
	}
	s->tail->item[n % STREAM_CHUNK] = *item;
	/* Pairs with the acquire in stream_empty(): without it the item may be incomplete. */
	__atomic_store_n(&s->pushed, n + 1, __ATOMIC_RELEASE);
}

bool stream_pop(struct stream *s, struct item *item)
{
	uint64_t n = s->popped;

	if (stream_empty(s))
		return false;
	if (n && n % STREAM_CHUNK == 0) {
		struct stream_chunk *next = s->head->next;

		memory.drop(s->head);
		s->head = next;
	}
	*item = s->head->item[n % STREAM_CHUNK];
	s->popped = n + 1;
	return true;
}
