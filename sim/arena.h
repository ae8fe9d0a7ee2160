/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * arena.h - the memory that simulated CPUs share.
 *
 * Only memory allocated here is simulated: every cache line of it has a number and a home
 * node. Stacks, globals and ordinary heap of the process are private and free.
 * The arena lies at a fixed address, so that a run's addresses, and therefore its
 * results, repeat byte for byte.
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

/* One allocation: what reports call it. */
struct arena_object {
	const char *name; /* e.g. "global mask" */
	const char *type; /* C type of one element, e.g. "struct sbm_line", or NULL */
	uint64_t offset;  /* of the first byte, from ARENA_BASE */
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

/** arena_init - map the arena, or forget everything that was allocated in it. */
void arena_init(void);

/**
 * arena_alloc - zeroed lines for one object.
 * @size: bytes; rounded up to whole lines, so that no two objects share a line
 * @node: home node, -1 for any
 * @name: shown in reports; not copied
 * @type: C type for field names, or NULL; not copied
 *
 * Aborts when the arena is full: a simulation that needs 64 GiB is a bug.
 */
void *arena_alloc(size_t size, int node, const char *name, const char *type);

/* Lines handed out so far: line numbers are 0..arena_lines()-1. */
uint32_t arena_lines(void);
size_t arena_bytes(void);

/* The object that @line belongs to (binary search), never NULL for an allocated line. */
const struct arena_object *arena_object_of(uint32_t line);

/**
 * arena_label - name what port_alloc() returns from now on.
 * @name: object name for reports, not copied
 * @type: C type, or NULL, not copied
 *
 * core/ allocates through port_alloc() and knows nothing of reports; the experiment
 * that calls it says what it is building.
 */
void arena_label(const char *name, const char *type);

/**
 * arena_constant - no simulated CPU writes these lines from now on; one that does is a bug, and
 * ends the program.
 * @ptr: in the arena
 * @size: bytes; lines count as a whole
 *
 * Once a core has a copy of such a line, what the other CPUs do can be left for later. So a loop
 * that waits for somebody must look at something else as well.
 */
void arena_constant(const void *ptr, size_t size);
bool arena_is_constant(uint32_t line);

/*
 * Asked by port_alloc() first, when set: returns zeroed lines, or NULL for "take them from
 * the arena". The explorer runs the same program again and again and hands it the same lines
 * every time.
 */
extern void *(*arena_port_alloc)(size_t size);

#endif
