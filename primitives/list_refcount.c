// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Walk a linked list hand over hand: read the pointer to the next element, read its key, take a
 * reference of it by compare-and-swap, unless its count is 0, and only then drop the one of the
 * element before. So no element is freed under the walker, and each costs two locked operations on a
 * line that every other walker writes, too.
 *
 * The walk is for the last key. Elements of 48 bytes lie as a C library's malloc() places requests
 * one after the other: 16 bytes of header and rounding before each, so 64 bytes apart. The heap is
 * taken to begin on a line. Then each element has a line of its own.
 */
#include <stdlib.h>

#include "primitive.h"

#define ELEMENTS 10
#define HEADER	 16

struct list_element {
	struct list_element *next;
	u64 key;
	u32 count;
	u32 freed;
	u64 value[3];
};

static_assert(sizeof(struct list_element) == 48, "as the list that was described");

struct list_block {
	u8 header[HEADER];
	struct list_element element;
};

static_assert(sizeof(struct list_block) == PORT_CACHELINE, "one line an element");

static void destroy(void *state)
{
	port_free(state, ELEMENTS * sizeof(struct list_block));
}

static void *create(const struct primitive_place *place)
{
	struct list_block *block = primitive_alloc(ELEMENTS * sizeof(*block), place->home, "list",
						   "struct list_block");

	if (!block)
		return NULL;
	for (u32 i = 0; i < ELEMENTS; i++)
		block[i].element = (struct list_element){
			.next = i + 1 < ELEMENTS ? &block[i + 1].element : NULL,
			.key = i,
			.count = 1, /* the list's own */
		};
	return block;
}

static bool try_get(struct list_element *e)
{
	u32 old = READ_ONCE(e->count);

	do {
		if (!old)
			return false;
	} while (!__atomic_compare_exchange_n(&e->count, &old, old + 1, false, __ATOMIC_ACQUIRE,
					      __ATOMIC_RELAXED));
	return true;
}

static void put(struct list_element *e)
{
	if (__atomic_fetch_sub(&e->count, 1, __ATOMIC_RELEASE) == 1)
		WRITE_ONCE(e->freed, 1); /* never: the list keeps its own */
}

static struct list_element *find(struct list_block *list, u64 key)
{
	struct list_element *e, *before;

retry:
	before = NULL;
	for (e = &list->element; e; e = READ_ONCE(e->next)) {
		if (!try_get(e)) {
			if (before)
				put(before);
			goto retry;
		}
		if (before)
			put(before);
		if (READ_ONCE(e->key) == key)
			return e;
		before = e;
	}
	if (before)
		put(before);
	return NULL;
}

static void ops(void *state, const struct primitive_thread *thread, u64 n)
{
	while (n--) {
		struct list_element *e = find(state, ELEMENTS - 1);

		PORT_WARN_ON(!e);
		primitive_hold(thread);
		put(e);
	}
}

static bool consistent(const void *state, u64 n)
{
	const struct list_block *block = state;

	for (u32 i = 0; i < ELEMENTS; i++)
		if (READ_ONCE(block[i].element.count) != 1 || block[i].element.freed)
			return false;
	return true;
}

const struct primitive primitive_list_refcount = {
	.name = "list-refcount",
	.what = "walk a list of 10, hand over hand by reference counts",
	.holds = true,
	.create = create,
	.ops = ops,
	.consistent = consistent,
	.destroy = destroy,
};
