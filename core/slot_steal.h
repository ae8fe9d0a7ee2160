/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What slot_set.c, slot_claim.c and slot_cache.c need from each other. Private to core/.
 * Concurrency, context: as slot_claim_n().
 */
#ifndef SLOT_STEAL_H
#define SLOT_STEAL_H

#include "slot_set.h"

/* Claim up to @n slots: the first function from the set alone, the second from caches too. */
u32 slot_claim_set(struct slot_set *s, u32 cpu, u32 n, u32 *slots);
u32 slot_claim_cached(struct slot_set *s, u32 cpu, u32 n, u32 *slots);

/* The home of slot or word @i, if shards share @nr of them; inverse of share() in slot_set.c. */
static inline u32 slot_home(const struct shard_plan *plan, u32 i, u32 nr)
{
	u32 idx = (u32)port_div64((u64)plan->nr_possible * (i + 1) - 1, nr);

	return plan->slot[plan->idx_to_cpu[idx]].shard;
}

/* How many slots are in caches. */
u32 slot_cache_nr(const struct slot_set *s);

#endif /* SLOT_STEAL_H */
