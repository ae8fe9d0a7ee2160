/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A set of slots: tags, connections, buffers, workers, any number of them, each free or taken. A
 * slot has a home shard: its bit is on a line of that shard. A claim takes a free slot whose home
 * is near a CPU. For one object for each CPU take an sbm (sbm_claim.h).
 *
 * Concurrency: slot_set_alloc() and slot_set_free() exclude everything else. One slot_set_grow() at
 * a time. All other calls may overlap, also with a slot_set_grow(). No two claims get one slot. A
 * claim finds a slot that is free all through the call. It may miss one that others put where it
 * has searched.
 *
 * Order of a search: the slot that is the CPU's own, as there are CPUs and slots in the shard; the
 * others of its home from there on; near shards, where each caller begins elsewhere. Slots of a
 * later slot_set_grow() come after all others.
 *
 * Context: any, unless said. Ordering: a full barrier where a slot is claimed, else none; it pairs
 * with slot_put(), a release. CPU numbers are of possible CPUs; no function checks them.
 */
#ifndef SLOT_SET_H
#define SLOT_SET_H

#include "port.h"
#include "shard_plan.h"

#define SLOT_SET_MAX   (1u << 30) /* slots in all */
#define SLOT_SET_PARTS 16u	  /* one, and as often as a set can grow */

/**
 * struct slot_part - slots of one allocation; read-only except for the lines
 * @first: number of its first slot
 * @nr: slots
 * @nr_words: words, each on a line of its own
 * @shift: a word has 1 << @shift slots, the last one the rest
 * @bytes: memory of this header with its tables
 * @own: by CPU number: the CPU's own slot, counted from 0; @nr: its shard has none
 * @from: by shard: its first word; one more at the end
 * @word: by number: set bits are free
 */
struct slot_part {
	u32 first;
	u32 nr;
	u32 nr_words;
	u32 shift;
	size_t bytes;
	u32 *own;
	u32 *from;
	u64 *word[];
};

/* A set; read-only except during a slot_set_grow(). */
struct slot_set {
	const struct shard_plan *plan; /* the plan */
	u32 nr_parts;		       /* in use */
	struct slot_part *part[SLOT_SET_PARTS];
};

/* Slots 0 to @nr - 1, all free; @nr is 1 or more. NULL: no memory, or too many. May sleep. */
struct slot_set *slot_set_alloc(const struct shard_plan *plan, u32 nr);

/* Free a set, or NULL. May sleep. */
void slot_set_free(struct slot_set *s);

/*
 * Add @nr free slots; their numbers follow the others. False: no memory, or too often. May sleep.
 * Ordering: releases the new slots to claims; a full barrier at the end.
 */
bool slot_set_grow(struct slot_set *s, u32 nr);

/* How many slots there are. */
static inline u32 slot_set_size(const struct slot_set *s)
{
	/* Pairs with the release in slot_set_grow(): without it the part may be unset. */
	const struct slot_part *last = s->part[smp_load_acquire(&s->nr_parts) - 1];

	return last->first + last->nr;
}

/* Claim the free slot nearest to a CPU. Return: its number, -1: none. Lines: up to the hit. */
s64 slot_claim_near(struct slot_set *s, u32 cpu);

/* Put a slot that the caller claimed: a release. Line: the slot's, written. */
void slot_put(struct slot_set *s, u32 slot);

/* How many are free? Exact if none changes meanwhile. Lines touched: all, read. */
u32 slot_set_nr_free(const struct slot_set *s);

#endif /* SLOT_SET_H */
