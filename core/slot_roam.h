/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Slots whose home follows their last user: a put makes the CPU's shard the slot's home. For slots
 * that one CPU claims and another one puts, such as the tags of requests that end elsewhere. A
 * slot_set keeps homes, and is quicker where the same CPU claims and puts.
 *
 * Concurrency: slot_roam_alloc() and slot_roam_free() exclude everything else. All other calls may
 * overlap. No two claims get one slot. A claim finds a slot that is free all through the call. It
 * may miss one that others put where it has searched.
 *
 * Order of a search: the own shard, from the CPU's part of the numbers on, around; near shards in
 * the same way. Lines: a row for each shard, of a bit for each slot.
 *
 * Context: any, unless said. Ordering: a full barrier where a slot is claimed, else none; it pairs
 * with slot_roam_put(), a release. CPU numbers are of possible CPUs; no function checks them.
 */
#ifndef SLOT_ROAM_H
#define SLOT_ROAM_H

#include "port.h"
#include "shard_plan.h"

#define SLOT_ROAM_MAX (1u << 20) /* slots of a set */

/**
 * struct slot_roam - a set; read-only except for the rows
 * @plan: the plan
 * @nr: slots
 * @nr_words: words of a row
 * @bytes: memory of this header with its tables
 * @row: by shard: bits that are set are free slots whose home it is
 */
struct slot_roam {
	const struct shard_plan *plan;
	u32 nr;
	u32 nr_words;
	size_t bytes;
	u64 *row[];
};

/*
 * Slots 0 to @nr - 1, 1 to SLOT_ROAM_MAX, all free; at first each shard has its share. NULL: no
 * memory, or a wrong number. May sleep.
 */
struct slot_roam *slot_roam_alloc(const struct shard_plan *plan, u32 nr);

/* Free a set, or NULL. May sleep. */
void slot_roam_free(struct slot_roam *s);

/* Claim the free slot nearest to a CPU. Return: its number, -1: none. Lines: up to the hit. */
s64 slot_roam_claim_near(struct slot_roam *s, u32 cpu);

/* Put a slot that the caller claimed, near a CPU: a release. Line: one of the shard's, written. */
void slot_roam_put(struct slot_roam *s, u32 slot, u32 cpu);

/* How many are free? Exact if none changes meanwhile. Lines touched: all, read. */
u32 slot_roam_nr_free(const struct slot_roam *s);

#endif /* SLOT_ROAM_H */
