// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Walk a linked list hand over hand. Read the pointer to the next element and take a reference on
 * it by compare-and-swap, unless its count is 0. Only then drop the reference on the previous
 * element. So no element is freed while the walker uses it. Each element costs two locked
 * operations on a line that every other walker writes too. The walk searches for one of ten keys at
 * random, so it passes 5.5 elements on average.
 *
 * Elements are placed as malloc() places equal requests: one after the other, each behind its
 * header, in a heap that begins on a line. Requests of 40 bytes take 48 each, so neighbours
 * share lines: list-refcount. Requests of 48 bytes take 64 each, so each element has its own
 * line: list-refcount-apart.
 */
#include <stdlib.h>

#include "primitive.h"

#define ELEMENTS 10
#define HEADER	 16
#define APART	 16 /* distance of two threads' numbers: no line has both */

struct list_element {
	struct list_element *next;
	u64 key;
	u32 count;
	u32 freed;
	u64 value[3]; /* when packed, value[2] is the next element's header */
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

/* @random: private memory: of each thread, its last random number */
struct walked_list {
	void *elements;
	size_t size;
	u32 random[];
};

static void destroy(void *state)
{
	struct walked_list *list = state;

	if (list && list->elements)
		port_free(list->elements, list->size);
	free(list);
}

static struct walked_list *create(const struct primitive_place *place, size_t size,
				  const char *name, const char *type)
{
	struct walked_list *list =
		calloc(1, sizeof(*list) + place->nr_threads * APART * sizeof(list->random[0]));

	if (!list)
		return NULL;
	for (u32 i = 0; i < place->nr_threads; i++)
		list->random[i * APART] = i * 2654435761u;
	list->size = size;
	list->elements = primitive_alloc(size, place->home, name, type);
	if (!list->elements) {
		destroy(list);
		return NULL;
	}
	return list;
}

static void *create_apart(const struct primitive_place *place)
{
	struct walked_list *list =
		create(place, sizeof(struct list_apart), "list", "struct list_apart");
	struct list_apart *e = list ? list->elements : NULL;

	for (u32 i = 0; e && i < ELEMENTS; i++)
		fill(&e->block[i].element, i, i + 1 < ELEMENTS ? &e->block[i + 1].element : NULL);
	return list;
}

static void *create_packed(const struct primitive_place *place)
{
	struct walked_list *list =
		create(place, sizeof(struct list_packed), "packed list", "struct list_packed");
	struct list_packed *e = list ? list->elements : NULL;

	for (u32 i = 0; e && i < ELEMENTS; i++)
		fill(&e->element[i], i, i + 1 < ELEMENTS ? &e->element[i + 1] : NULL);
	return list;
}

static struct list_element *first(const struct walked_list *list)
{
	return (struct list_element *)((u8 *)list->elements + HEADER);
}

static u64 random_key(struct walked_list *list, u32 thread)
{
	u32 *random = &list->random[(size_t)thread * APART];

	*random = *random * 1664525u + 1013904223u;
	return ((u64)*random * ELEMENTS) >> 32;
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
		WRITE_ONCE(e->freed, 1); /* never happens: the list keeps a reference */
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
	struct walked_list *list = state;

	while (n--) {
		struct list_element *e = find(first(list), random_key(list, thread->number));

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
	  "walk a list of 10 to a random element, hand over hand by reference counts", true,
	  create_apart, ops, consistent, destroy);

PRIMITIVE(list_refcount, "list-refcount", "the same, elements share cache lines", true,
	  create_packed, ops, consistent, destroy);
