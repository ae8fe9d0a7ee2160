// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Walk a linked list hand over hand. Read the pointer to the next element and take a reference on
 * it by compare-and-swap, unless its count is 0. Only then drop the reference on the previous
 * element. So no element is freed while the walker uses it. Each element costs two locked
 * operations on a line that every other walker writes too. The walk searches for the key of the
 * last of ten elements.
 *
 * Elements are placed as malloc() places equal requests: one after the other, each behind its
 * header, in a heap that begins on a line. Requests of 40 bytes take 48 each, so neighbours
 * share lines: list-refcount. Requests of 48 bytes take 64 each, so each element has its own
 * line: list-refcount-apart.
 */
#include "primitive.h"

#define ELEMENTS 10
#define HEADER	 16

struct list_element {
	struct list_element *next;
	u64 key;
	u32 count;
	u32 freed;
	u64 value[3]; /* when packed, the last is the header of the next element */
};

static_assert(sizeof(struct list_element) == 48, "48 bytes, or 40 and a header");

struct list_apart {
	struct {
		u8 header[HEADER];
		struct list_element element;
	} block[ELEMENTS];
};

static_assert(sizeof(struct list_apart) == ELEMENTS * PORT_CACHELINE, "one line an element");

struct list_packed {
	u8 header[HEADER];
	struct list_element element[ELEMENTS];
};

static void fill(struct list_element *e, u64 key, struct list_element *next)
{
	*e = (struct list_element){ .next = next, .key = key, .count = 1 /* the list's own */ };
}

static void *create_apart(const struct primitive_place *place)
{
	struct list_apart *list =
		primitive_alloc(sizeof(*list), place->home, "list", "struct list_apart");

	for (u32 i = 0; list && i < ELEMENTS; i++)
		fill(&list->block[i].element, i,
		     i + 1 < ELEMENTS ? &list->block[i + 1].element : NULL);
	return list;
}

static void destroy_apart(void *state)
{
	port_free(state, sizeof(struct list_apart));
}

static void *create_packed(const struct primitive_place *place)
{
	struct list_packed *list =
		primitive_alloc(sizeof(*list), place->home, "packed list", "struct list_packed");

	for (u32 i = 0; list && i < ELEMENTS; i++)
		fill(&list->element[i], i, i + 1 < ELEMENTS ? &list->element[i + 1] : NULL);
	return list;
}

static void destroy_packed(void *state)
{
	port_free(state, sizeof(struct list_packed));
}

static struct list_element *first(const void *state)
{
	return (struct list_element *)((u8 *)state + HEADER);
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
		WRITE_ONCE(e->freed, 1); /* never: the list keeps its own reference */
}

static struct list_element *find(struct list_element *list, u64 key)
{
	struct list_element *e, *before;

retry:
	before = NULL;
	for (e = list; e; e = READ_ONCE(e->next)) {
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
		struct list_element *e = find(first(state), ELEMENTS - 1);

		PORT_WARN_ON(!e);
		primitive_hold(thread);
		put(e);
	}
}

static bool consistent(const void *state, u64 n)
{
	u32 seen = 0;

	for (const struct list_element *e = first(state); e; e = e->next, seen++)
		if (READ_ONCE(e->count) != 1 || e->freed || e->key != seen)
			return false;
	return seen == ELEMENTS;
}

PRIMITIVE(list_refcount_apart, "list-refcount-apart",
	  "walk a list of 10, hand over hand by reference counts", true, create_apart, ops,
	  consistent, destroy_apart);

PRIMITIVE(list_refcount, "list-refcount", "the same, elements share cache lines", true,
	  create_packed, ops, consistent, destroy_packed);
