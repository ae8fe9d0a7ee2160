// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * port_alloc() and port_free(): cache lines on NUMA nodes.
 *
 * A sharded structure needs one or a few lines on each of several nodes. The kernel places whole
 * pages, so a page per object would waste 63 of 64 lines. Therefore the allocator carves lines out
 * of chunks, and a chunk belongs to one node.
 *
 *  - A chunk is 64 KiB, aligned to 64 KiB: port_free() finds the chunk of a line by masking its
 *    address. Its first lines hold its header: a bit per line, set when used.
 *  - An object takes the first gap that is long enough; the search is short, because objects are
 *    few and small. Objects of more than a quarter of a chunk get their own mapping. port_free()
 *    knows such an object by its size.
 *  - port_free() unmaps a chunk when it frees the chunk's last object.
 *  - One lock protects everything: allocation is not a fast path.
 *
 * The node is set before any code touches the page, and the memory is zeroed after that. So the
 * node is right on whichever CPU the caller runs.
 *
 * On a machine with one node, port_alloc() only calls aligned_alloc(). It does the same under the
 * address sanitizer, which cannot see an overrun inside a chunk. A process never changes between
 * the two ways, so port_free() needs no mark.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "locks.h"
#include "numa.h"
#include "port.h"

#define CHUNK_SIZE  (64u << 10)
#define CHUNK_LINES (CHUNK_SIZE / PORT_CACHELINE)
#define MAX_LINES   (CHUNK_LINES / 4) /* longer objects have their own mapping */

/* A test of the chunks defines it as false. */
#ifndef PLAIN_MALLOC
#if defined(__SANITIZE_ADDRESS__)
#define PLAIN_MALLOC true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PLAIN_MALLOC true
#endif
#endif
#endif
#ifndef PLAIN_MALLOC
#define PLAIN_MALLOC false
#endif

/**
 * struct chunk - header of a chunk, in its first lines
 * @next: the next chunk, of any node
 * @node: its NUMA node, -1: by first touch
 * @used: lines in use, without those of the header
 * @map: a bit per line
 */
struct chunk {
	struct chunk *next;
	int node;
	u32 used;
	u64 map[CHUNK_LINES / 64];
};

#define HEADER_LINES ((sizeof(struct chunk) + PORT_CACHELINE - 1) / PORT_CACHELINE)

static_assert(MAX_LINES + HEADER_LINES <= CHUNK_LINES, "an empty chunk fits the longest object");

static struct chunk *chunks;

static bool use_malloc(void)
{
	return PLAIN_MALLOC || !shard_numa_many();
}

static u32 lines_of(size_t size)
{
	return (u32)((size + PORT_CACHELINE - 1) / PORT_CACHELINE);
}

static void *map_on_node(size_t size, int node)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (ptr == MAP_FAILED)
		return NULL;
	if (node >= 0)
		shard_numa_place(ptr, size, node);
	return ptr;
}

static bool line_used(const struct chunk *chunk, u32 line)
{
	return chunk->map[line / 64] >> line % 64 & 1;
}

static void mark_lines(struct chunk *chunk, u32 first, u32 count)
{
	for (u32 line = first; line < first + count; line++)
		chunk->map[line / 64] ^= 1ULL << line % 64;
}

/*
 * Return the first line of the first gap of @count lines, or 0, a line of the header, if none.
 */
static u32 find_gap(const struct chunk *chunk, u32 count)
{
	u32 free_lines = 0;

	for (u32 line = HEADER_LINES; line < CHUNK_LINES; line++) {
		free_lines = line_used(chunk, line) ? 0 : free_lines + 1;
		if (free_lines == count)
			return line - count + 1;
	}
	return 0;
}

static struct chunk *chunk_new(int node)
{
	/* twice the size contains an aligned chunk */
	char *mem = map_on_node(2 * CHUNK_SIZE, node), *start;
	struct chunk *chunk;

	if (!mem)
		return NULL;
	start = (char *)(((uintptr_t)mem + CHUNK_SIZE - 1) & ~(uintptr_t)(CHUNK_SIZE - 1));
	if (start > mem)
		munmap(mem, (size_t)(start - mem));
	if (start < mem + CHUNK_SIZE)
		munmap(start + CHUNK_SIZE, (size_t)(mem + CHUNK_SIZE - start));
	chunk = (struct chunk *)start;
	chunk->node = node;
	mark_lines(chunk, 0, HEADER_LINES);
	chunk->next = chunks;
	chunks = chunk;
	return chunk;
}

static void *arena_alloc(u32 count, int node)
{
	struct chunk *chunk;
	u32 first = 0;

	for (chunk = chunks; chunk; chunk = chunk->next) {
		if (chunk->node != node)
			continue;
		first = find_gap(chunk, count);
		if (first)
			break;
	}
	if (!chunk) {
		chunk = chunk_new(node);
		if (!chunk)
			return NULL;
		first = HEADER_LINES;
	}
	mark_lines(chunk, first, count);
	chunk->used += count;
	return (char *)chunk + (size_t)first * PORT_CACHELINE;
}

static void arena_free(void *ptr, u32 count)
{
	struct chunk *chunk = (struct chunk *)((uintptr_t)ptr & ~(uintptr_t)(CHUNK_SIZE - 1));
	struct chunk **link = &chunks;

	mark_lines(chunk, (u32)(((char *)ptr - (char *)chunk) / PORT_CACHELINE), count);
	chunk->used -= count;
	if (chunk->used)
		return;
	while (*link != chunk)
		link = &(*link)->next;
	*link = chunk->next;
	munmap(chunk, CHUNK_SIZE);
}

void *port_alloc(size_t size, int node)
{
	size_t rounded = (size + PORT_CACHELINE - 1) & ~(size_t)(PORT_CACHELINE - 1);
	void *ptr;

	if (rounded < size)
		return NULL;
	if (use_malloc()) {
		ptr = aligned_alloc(PORT_CACHELINE, rounded);
	} else if (rounded > MAX_LINES * PORT_CACHELINE) {
		/* pages of a mapping are zero and stay untouched until their first use */
		return map_on_node(rounded, node < 0 ? -1 : node);
	} else {
		shard_lock(LOCK_MEMORY);
		ptr = arena_alloc(lines_of(rounded), node < 0 ? -1 : node);
		shard_unlock(LOCK_MEMORY);
	}
	return ptr ? memset(ptr, 0, rounded) : NULL;
}

void port_free(void *ptr, size_t size)
{
	if (!ptr)
		return;
	if (use_malloc()) {
		free(ptr);
	} else if (size > MAX_LINES * PORT_CACHELINE) {
		munmap(ptr, size);
	} else {
		shard_lock(LOCK_MEMORY);
		arena_free(ptr, lines_of(size));
		shard_unlock(LOCK_MEMORY);
	}
}
