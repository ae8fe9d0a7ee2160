/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A set of slots: any number of tags, connections, buffers or workers, each free or taken. A slot
 * has a home shard: its bit is on a line of that shard. A claim takes a free slot whose home is
 * near a CPU. The slots' numbers are the caller's keys. In a set of plan->nr_possible slots number
 * plan->slot[cpu].idx has its home at that CPU, so it can stand for an object of the CPU. For a set
 * of CPUs that is walked use an sbm (sbm.h).
 *
 * There are two kinds of sets. In one kind homes stay. In the other a slot's home follows its last
 * user, because slot_put_near() makes the CPU's shard the home. The second kind is for slots that
 * one core claims and another one puts, such as the tags of requests that complete on another core.
 * A set of the second kind has one bit per slot in each shard, and a pointer per 64 of these bits.
 *
 * Concurrency: slot_set_alloc() and slot_set_destroy() exclude everything else. One slot_set_grow()
 * at a time. All other calls may overlap, also with a slot_set_grow(). No two claims get the same
 * slot. A claim succeeds if a slot is free throughout the call. It may miss a slot that others put
 * into a word that it has already searched.
 *
 * Order of a search: if the CPU's shard has slots, a search begins at this CPU's own slot, and goes
 * on to the other slots of that shard. Then it visits near shards, where callers begin at different
 * slots. Slots that slot_set_grow() added are searched after all others.
 *
 * Context: any, unless said. Ordering: a full barrier if a slot is claimed, else none; the barrier
 * pairs with slot_put() and slot_put_near(), which release. CPU numbers must be those of possible
 * CPUs; no function checks them.
 */
#ifndef SLOT_SET_H
#define SLOT_SET_H

#include "port.h"
#include "shard_plan.h"

#define SLOT_SET_MAX	(1u << 30) /* slots in all */
#define SLOT_FOLLOW_MAX (1u << 20) /* slots in all, if homes follow */
#define SLOT_SET_PARTS	16u	   /* the first part, and one per slot_set_grow() */

/* A CPU's own slot. Tables of these are indexed downwards from their end: slot_own_of(). */
struct slot_own {
	u64 *word; /* its word, NULL where the CPU's shard has no slot */
	u64 at;	   /* its number * 64, plus its bit in the word, so that one load suffices */
};

/* The number of the slot's bit in its word; @at: of a struct slot_own. */
static port_always_inline u32 slot_own_bit(u64 at)
{
	return (u32)at & 63;
}

/* The slot's number; @at: of a struct slot_own. */
static port_always_inline u32 slot_own_slot(u64 at)
{
	return (u32)(at >> 6);
}

/* A CPU's entry of the table that ends at @end, which is a set or a part's @own. */
static port_always_inline struct slot_own *slot_own_of(const void *end, u32 cpu)
{
	return (struct slot_own *)end - 1 - cpu;
}

/**
 * struct slot_part - slots of one allocation; read-only except for the lines
 * @first: number of its first slot
 * @nr: number of its slots
 * @nr_words: number of words
 * @shift: a word has 1 << @shift slots, the last word the rest
 * @row: where homes follow: adjacent words of each shard, for all slots. 0: homes stay, and each
 *       word has its own line
 * @bytes: memory of this header with its tables
 * @own: the end of its table by CPU number; for the first part the address of the set
 * @from: by shard: number of its first word; one entry more, for the end
 * @word: by word number; set bits are free slots; for the first part the set's @word
 */
struct slot_part {
	u32 first;
	u32 nr;
	u32 nr_words;
	u32 shift;
	u32 row;
	size_t bytes;
	struct slot_own *own;
	u32 *from;
	u64 **word;
};

/*
 * A set; read-only except during a slot_set_grow(). The first part's table by CPU number is in
 * front of the structure, and its table by word behind it. So claims and puts need not load the
 * tables' addresses.
 */
struct slot_set {
	const struct shard_plan *plan; /* the plan */
	u32 nr_parts;		       /* parts in use */
	u32 nr_follow;		       /* slots of the first part if homes follow, else 0 */
	struct slot_part *part[SLOT_SET_PARTS];
	bool empty;   /* SLOT_EMPTY */
	size_t bytes; /* memory of this header with its table */
	u64 quick;    /* @nr * 8 + @shift of the first part; 0: homes follow */
	/* slot_cache.c: all caches, their lock, and whether there ever was one */
	u64 lock __aligned(PORT_CACHELINE);
	struct slot_cache *caches;
	bool cached;
	u64 *word[] __aligned(PORT_CACHELINE); /* of the first part */
};

/* Flags of slot_set_alloc(). */
#define SLOT_FOLLOW 1u /* homes follow; initially each shard has its share of the slots */
#define SLOT_EMPTY  2u /* no slot is free before its first put, even if it is added later */

/*
 * Make a set of slots 0 to @nr - 1, all free without SLOT_EMPTY; @nr is 1 or more. Return: NULL if
 * there is no memory, or if @nr is too large. May sleep.
 */
struct slot_set *slot_set_alloc(const struct shard_plan *plan, u32 nr, unsigned int flags);

/* Free a set, or NULL. May sleep. */
void slot_set_destroy(struct slot_set *s);

/*
 * Add @nr slots, numbered after the others. Return: false if there is no memory, or if there
 * are too many slots or calls. May sleep. Ordering: releases the new slots to claims; a full
 * barrier at the end.
 */
bool slot_set_grow(struct slot_set *s, u32 nr);

/* How many slots there are. */
static inline u32 slot_set_size(const struct slot_set *s)
{
	/* Pairs with the release in slot_set_grow(): without it the part may be unset. */
	const struct slot_part *last = s->part[smp_load_acquire(&s->nr_parts) - 1];

	return last->first + last->nr;
}

/* slot_put() in a set whose homes follow, or for a slot that slot_set_grow() added. Private. */
void slot_put_any(struct slot_set *s, u32 slot);

/*
 * Put a slot that the caller claimed. Ordering: a release. Line: the slot's, written. In a set
 * whose homes follow, the slot returns to its initial home.
 */
static port_always_inline void slot_put(struct slot_set *s, u32 slot)
{
	u64 quick = s->quick; /* 0 where homes follow */
	u32 shift = (u32)quick & 7;

	if (likely(slot < quick >> 3))
		port_or64_release(s->word[slot >> shift], 1ull << (slot & ((1u << shift) - 1)));
	else
		slot_put_any(s, slot);
}

/* slot_put() by @cpu: in a set whose homes follow, the shard of @cpu becomes the slot's home. */
void slot_put_near(struct slot_set *s, u32 slot, u32 cpu);

/*
 * slot_put_near() of @n slots. Neighbours in @slots that share a word, such as the slots of one
 * slot_claim_n(), take one atomic operation. Ordering: a release of each slot.
 */
void slot_put_n(struct slot_set *s, u32 cpu, u32 n, const u32 *slots);

/*
 * Claim the slot of this number, if it is free and not in a cache. Ordering: as a claim. Lines
 * touched: in each shard where the slot may have its home, the line with its bit, written.
 */
bool slot_take(struct slot_set *s, u32 slot);

/* Is a slot free? False also for a slot in a cache. Lines: as slot_take(), read. */
bool slot_is_free(const struct slot_set *s, u32 slot);

/*
 * The first slot from @slot on that is taken, or -1. It finds each slot that is taken throughout a
 * walk, and none that is free throughout, except those in caches. Lines: as slot_is_free(), for all
 * slots up to the one found.
 *
 *	for (slot = slot_next_taken(s, 0); slot >= 0; slot = slot_next_taken(s, (u32)slot + 1))
 */
s64 slot_next_taken(const struct slot_set *s, u32 slot);

/* How many slots are free, also in caches? Exact if none changes. Lines touched: all, read. */
u32 slot_set_nr_free(const struct slot_set *s);

/*
 * Handles, against stale slot numbers. A tag in the object that a slot stands for counts how often
 * the slot was put. A handle has the slot in its lower half, and the count in its upper half. Of
 * two threads that end a slot's use by the same handle one succeeds, and puts the slot.
 *
 *	u64 handle = slot_handle(&object[slot].tag, (u32)slot);		after the claim
 *
 *	if (slot_handle_end(&object[(u32)handle].tag, handle))		false: it is stale
 *		slot_put(s, (u32)handle);
 *
 * A tag starts at 0, and costs nothing where there are no handles. After 2^32 puts of its slot an
 * old handle seems valid again.
 */
struct slot_tag {
	u64 count; /* in the upper half */
};

/* The handle of a slot that the caller claimed. Ordering: none, also of slot_handle_valid(). */
static inline u64 slot_handle(const struct slot_tag *tag, u32 slot)
{
	return port_read64(&tag->count) | slot;
}

/* Is @handle not stale? Unless the caller owns the slot, the answer may change at any time. */
static inline bool slot_handle_valid(const struct slot_tag *tag, u64 handle)
{
	return port_read64(&tag->count) == (handle & ~0xffffffffull);
}

/*
 * End this use of the slot: all its handles become stale. Return: false, with no effect, if @handle
 * already is stale. Ordering: a full barrier.
 */
static inline bool slot_handle_end(struct slot_tag *tag, u64 handle)
{
	u64 count = handle & ~0xffffffffull;

	return port_cmpxchg64(&tag->count, count, count + (1ull << 32)) == count;
}

#endif /* SLOT_SET_H */
