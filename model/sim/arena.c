// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A bump allocator over one fixed mapping. No simulation reuses a line, because the statistics of
 * two objects would mix. The table of objects is in the order of their addresses, so a binary
 * search finds the object of a line.
 */
#include "arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t used; /* bytes from ARENA_BASE */
static struct arena_object *objects;
static size_t nr_objects, cap_objects;
static const char *label_name, *label_type;
static uint64_t *constant; /* one bit per line */
static size_t constant_words;

void arena_init(void)
{
	void *want = (void *)(uintptr_t)ARENA_BASE;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	if (used)
		flags |= MAP_FIXED; /* already mapped: new zero pages replace the old ones */
	else
		flags |= MAP_FIXED_NOREPLACE;
	if (mmap(want, ARENA_SIZE, PROT_READ | PROT_WRITE, flags, -1, 0) != want) {
		perror("schedshard: cannot map the simulated memory");
		exit(1);
	}
	used = LINE_SIZE; /* line 0 stays unused, so that no object has offset 0 */
	nr_objects = 0;
	free(constant);
	constant = NULL;
	constant_words = 0;
	label_name = "unnamed";
	label_type = NULL;
}

void *arena_alloc(size_t size, int node, const char *name, const char *type)
{
	size_t bytes = (size + LINE_SIZE - 1) & ~(size_t)(LINE_SIZE - 1);
	struct arena_object *o;

	if (!bytes)
		bytes = LINE_SIZE;
	if (!used)
		arena_init();
	if (used + bytes > ARENA_SIZE) {
		fprintf(stderr, "schedshard: simulated memory is full (%zu bytes asked for %s)\n",
			size, name);
		abort();
	}
	if (nr_objects == cap_objects) {
		cap_objects = cap_objects ? 2 * cap_objects : 256;
		objects = realloc(objects, cap_objects * sizeof(*objects));
		if (!objects)
			abort();
	}
	o = &objects[nr_objects++];
	*o = (struct arena_object){
		.name = name, .type = type, .offset = used, .size = size, .node = node
	};
	used += bytes;
	return (void *)(uintptr_t)(ARENA_BASE + o->offset);
}

uint32_t arena_lines(void)
{
	return (uint32_t)(used >> LINE_SHIFT);
}

size_t arena_bytes(void)
{
	return used;
}

const struct arena_object *arena_object_of(uint32_t line)
{
	uint64_t offset = (uint64_t)line << LINE_SHIFT;
	size_t lo = 0, hi = nr_objects;

	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if (objects[mid].offset <= offset)
			lo = mid;
		else
			hi = mid;
	}
	return &objects[lo];
}

void arena_constant(const void *ptr, size_t size)
{
	uint32_t first = arena_line(ptr), last = arena_line((const char *)ptr + size - 1);
	size_t words = last / 64 + 1;

	if (words > constant_words) {
		constant = realloc(constant, words * sizeof(*constant));
		if (!constant)
			abort();
		memset(constant + constant_words, 0, (words - constant_words) * sizeof(*constant));
		constant_words = words;
	}
	for (uint32_t line = first; line <= last; line++)
		constant[line / 64] |= 1ull << (line % 64);
}

bool arena_is_constant(uint32_t line)
{
	return line / 64 < constant_words && constant[line / 64] >> (line % 64) & 1;
}

void arena_label(const char *name, const char *type)
{
	label_name = name;
	label_type = type;
}

/* The functions that core/ needs from port/sim; see port/sim/port.h. */
void *port_alloc(size_t size, int node);
void port_free(void *ptr, size_t size);

void *(*arena_port_alloc)(size_t size);

void *port_alloc(size_t size, int node)
{
	void *ptr = arena_port_alloc ? arena_port_alloc(size) : NULL;

	if (ptr)
		return ptr;
	return arena_alloc(size, node, label_name, label_type);
}

void port_free(void *ptr, size_t size)
{
	/* A simulation does not reuse lines; arena_init() frees all of them. */
	(void)ptr;
	(void)size;
}
