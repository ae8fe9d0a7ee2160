/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * stats.h - the statistics that `perf c2c` would have sampled, but complete.
 *
 * There is one record per (line, offset, instruction). Loads that hit in the core's own cache are
 * not recorded: perf's load sampling with a latency threshold does not show them either. All stores
 * and locked operations are recorded. A locked operation counts as a load and as a store. The time
 * of a store is how long the CPU stalled on it: the store was the oldest in the CPU's buffer, and
 * the buffer was full or a fence drained it.
 */
#ifndef SIM_STATS_H
#define SIM_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "coherence.h"

enum access_kind { ACCESS_LOAD, ACCESS_STORE, ACCESS_RMW };

/* The part of a record that each access changes: one cache line of the host. */
struct access_record {
	uint64_t records, loads, stores;
	uint64_t time, load_max; /* ps; of a plain store: how long its CPU waited for it */
	uint64_t hitm_local, hitm_remote;
	uint32_t line;
	uint16_t offset; /* bytes from the line's start */
	uint8_t size, kind;
};

/**
 * struct access_place - the rest of a record
 * @pc: relative to the program's image
 * @cpus: bitmap of the CPUs that made the access
 */
struct access_place {
	uint64_t pc;
	uint64_t cpus[];
};

#define STATS_LOG 256u

/* One access as passed to stats_add(); @who is the result of stats_who(). */
struct stats_entry {
	const volatile void *addr;
	const void *pc;
	uint64_t time;
	uint32_t who, source;
};

/**
 * struct stats_slot - refers to one record of a line
 * @pc: as passed to stats_add()
 * @who: stats_who() of the last access that used the slot; 0: a free slot
 * @rec: number of the record
 */
struct stats_slot {
	const void *pc;
	uint32_t who, rec;
};

/**
 * struct stats_line - the records of one line
 * @slot: open addressing by offset and program counter
 * @mask: slots - 1
 * @n: slots in use
 * @touched: measurement epoch of the last access
 */
struct stats_line {
	struct stats_slot *slot;
	uint16_t mask, n;
	uint32_t touched;
};

/*
 * A log collects accesses. stats_settle() adds many at a time to their records, so that it can
 * prefetch the records: all of them together do not fit into the host's caches.
 */
struct stats {
	void **block; /* each: STATS_BLOCK records, then as many places; blocks never move */
	uint32_t n, nr_blocks;
	uint32_t cpu_words;
	struct stats_line *line;
	uint32_t nr_lines;
	uint32_t epoch, touched; /* lines touched in this epoch */
	uint32_t logged;
	struct stats_entry log[STATS_LOG];
};

int stats_init(struct stats *s, uint32_t nr_cpus);
void stats_free(struct stats *s);
void stats_reset(struct stats *s);

/* Add the logged accesses to their records. Call it before reading records. */
void stats_settle(struct stats *s);

#define STATS_BLOCK 1024u

/** stats_record - return record @i of n, in the order of first access. */
static inline struct access_record *stats_record(const struct stats *s, uint32_t i)
{
	return (struct access_record *)s->block[i / STATS_BLOCK] + i % STATS_BLOCK;
}

/** stats_place - return the rest of record @i. */
static inline struct access_place *stats_place(const struct stats *s, uint32_t i)
{
	struct access_record *block = s->block[i / STATS_BLOCK];

	return (struct access_place *)((uint64_t *)(block + STATS_BLOCK) +
				       (size_t)(i % STATS_BLOCK) * (1 + s->cpu_words));
}

void stats_grow_lines(struct stats *s, uint32_t line);

/** stats_touch - note that an access to the line begins. */
static inline void stats_touch(struct stats *s, uint32_t line)
{
	if (__builtin_expect(line >= s->nr_lines, 0))
		stats_grow_lines(s, line);
	if (__builtin_expect(s->line[line].touched != s->epoch, 0)) {
		s->line[line].touched = s->epoch;
		s->touched++;
	}
}

#define STATS_SIZE_SHIFT   2
#define STATS_OFFSET_SHIFT 9
#define STATS_CPU_SHIFT	   15

/*
 * CPU, offset, size and kind in one word that is never 0: a model has far fewer than 2^17 CPUs, and
 * an access at most the bytes of a line.
 */
static inline uint32_t stats_who(uint32_t cpu, const volatile void *addr, uint32_t size,
				 enum access_kind kind)
{
	return cpu << STATS_CPU_SHIFT | ((uint32_t)(uintptr_t)addr & 63) << STATS_OFFSET_SHIFT |
	       size << STATS_SIZE_SHIFT | kind;
}

/* Instructions that are near each other hash to slots near each other. */
static inline uint32_t stats_hash(const volatile void *addr, const void *pc)
{
	return (uint32_t)((uintptr_t)pc >> 3) ^ ((uint32_t)(uintptr_t)addr & 63) >> 2;
}

/**
 * stats_add - count one access of a line for which stats_touch() was called.
 * @time: picoseconds from issue until the value was available; of a store: how long its CPU waited
 *	for it
 */
static inline void stats_add(struct stats *s, uint32_t cpu, const volatile void *addr,
			     uint32_t size, enum access_kind kind, const void *pc, uint64_t time,
			     enum source source)
{
	if (__builtin_expect(s->logged == STATS_LOG, 0))
		stats_settle(s);
	s->log[s->logged++] =
		(struct stats_entry){ addr, pc, time, stats_who(cpu, addr, size, kind), source };
}

/** stats_recount - move the access that stats_add() counted last to @pc. */
static inline void stats_recount(struct stats *s, const void *pc)
{
	s->log[s->logged - 1].pc = pc;
}

#endif
