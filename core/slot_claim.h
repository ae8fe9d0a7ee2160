/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Claims a slot of a set, or several at once, or one below a limit that leaves slots for others.
 * For concurrency, the order of a search, and memory ordering see slot_set.h.
 */
#ifndef SLOT_CLAIM_H
#define SLOT_CLAIM_H

#include "slot_set.h"

/* Claim the free slot nearest to a CPU. Return: its number, or -1. Lines: those searched. */
s64 slot_claim_near(struct slot_set *s, u32 cpu);

/**
 * slot_claim_n() - claim several slots, nearest first
 * @s: the set
 * @cpu: CPU number to start from
 * @n: how many
 * @slots: receives their numbers
 *
 * Claims all that it needs from a word in one atomic operation. Return: how many it claimed; fewer
 * than @n when it found no more.
 */
u32 slot_claim_n(struct slot_set *s, u32 cpu, u32 n, u32 *slots);

/**
 * slot_claim_limit() - claim one of at most @limit slots
 * @s: the set
 * @cpu: CPU number to start from
 * @limit: how many slots of the whole set count
 *
 * Callers that use the same @limit never hold more than @limit slots together. So the rest stays
 * free for others, for example for requests that must not wait behind bulk work. A limit also makes
 * a set smaller for a while. The slots are spread over all words, so that each shard has its share.
 * Which slots these are depends on @limit and on the size of the set. Slots claimed with another
 * limit, or before a slot_set_grow(), do not count.
 *
 * Return: the slot's number, or -1 if none of these slots is free.
 */
s64 slot_claim_limit(struct slot_set *s, u32 cpu, u32 limit);

#endif /* SLOT_CLAIM_H */
