/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * arena.h - the memory that simulated CPUs share.
 *
 * Only memory that is allocated here is simulated: each of its lines has a number and a home node.
 * Stacks, globals and the ordinary heap of the process are private and cost nothing. The arena is
 * at a fixed address, so addresses and results repeat byte for byte.
 */
#ifndef SIM_ARENA_H
#define SIM_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARENA_BASE 0x100000000000ull
#define ARENA_SIZE (64ull << 30)
#define LINE_SHIFT 6
#define LINE_SIZE  (1u << LINE_SHIFT)

/* One allocation, and how reports name it. */
struct arena_object {
	const char *name; /* e.g. "global mask" */
	const char *type; /* C type of one element, e.g. "struct sbm_line", or NULL */
	uint64_t offset;  /* bytes from ARENA_BASE to the first byte */
	size_t size;	  /* bytes */
	int node;	  /* home NUMA node of its lines; -1: interleaved by line */
};

static inline bool arena_contains(const volatile void *addr)
{
	return (uint64_t)(uintptr_t)addr - ARENA_BASE < ARENA_SIZE;
}

static inline uint32_t arena_line(const volatile void *addr)
{
	return (uint32_t)(((uint64_t)(uintptr_t)addr - ARENA_BASE) >> LINE_SHIFT);
}

/** arena_init - map the arena, or discard everything that was allocated in it. */
void arena_init(void);

/**
 * arena_alloc - zeroed lines for one object.
 * @size: bytes; rounded up to whole lines, so no two objects share a line
 * @node: home node, -1 for any
 * @name: shown in reports; not copied
 * @type: C type for field names, or NULL; not copied
 *
 * Aborts when the arena is full: a simulation that needs 64 GiB has a bug.
 */
void *arena_alloc(size_t size, int node, const char *name, const char *type);

/* Lines allocated so far; their numbers are 0..arena_lines()-1. */
uint32_t arena_lines(void);
size_t arena_bytes(void);

/* The object that contains @line (binary search); never NULL for an allocated line. */
const struct arena_object *arena_object_of(uint32_t line);

/**
 * arena_label - name what port_alloc() returns from now on.
 * @name: object name for reports, not copied
 * @type: C type, or NULL, not copied
 *
 * core/ allocates with port_alloc(), which has no argument for a name. The experiment that calls
 * core/ names the object that it builds.
 */
void arena_label(const char *name, const char *type);

/**
 * arena_constant - declare that no simulated CPU writes these lines from now on.
 * @ptr: start of the memory, in the arena
 * @size: bytes; lines count as a whole
 *
 * A write to such a line aborts the program. A core with a copy of it may read it before other CPUs
 * have caught up. So a loop that waits for another CPU must also read a line that is not constant.
 */
void arena_constant(const void *ptr, size_t size);
bool arena_is_constant(uint32_t line);

/*
 * If set, port_alloc() calls this function first. It returns zeroed lines, or NULL: then
 * port_alloc() allocates from the arena. The explorer runs one program many times and returns the
 * same lines each time.
 */
extern void *(*arena_port_alloc)(size_t size);

#endif
