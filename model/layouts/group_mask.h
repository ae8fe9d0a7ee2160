/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * group_mask.h - published layouts of CPU masks: one for all CPUs, one per NUMA node, one per LLC.
 * They consist of bits, set with a locked instruction, or of bytes, set with a plain store.
 *
 * These are the masks of the yield experiment (model/experiments/cpumask-yield.toml). Each group
 * has its own lines, on its first CPU's node. Bits are indexed by CPU number, as in a cpumask;
 * bytes by position in the group.
 *
 *              | set, clear          | iterate
 *  set, clear  | ok; bytes: one      | ok, snapshot a word
 *              | writer per CPU        |
 *
 * Ordering: none. Context: any. Written against port.h, as core/ is.
 */
#ifndef LAYOUTS_GROUP_MASK_H
#define LAYOUTS_GROUP_MASK_H

#include "port.h"
#include "shard_topo.h"

enum group_by { GROUP_ALL, GROUP_NODE, GROUP_LLC };

struct group_mask_slot {
	u64 *word; /* the CPU's word, or the word that contains its byte */
	u64 bit;   /* the CPU's bit in it; bytes: unused */
	u8 *byte;
};

/**
 * struct group_mask - the mask
 * @slot: by CPU number: what a set or clear needs; two CPUs per line
 * @mask: by group: its words
 * @words: by group: the number of words
 */
struct group_mask {
	struct group_mask_slot *slot;
	u64 **mask;
	u32 *words;
	u32 nr_groups;
	bool bytes;
	size_t size; /* bytes of the masks themselves */
};

/**
 * group_mask_alloc - an empty mask for all possible CPUs of @topo.
 * @by: how CPUs are grouped
 * @bytes: one byte per CPU instead of one bit
 *
 * Return: the mask, or NULL if there is no memory.
 */
struct group_mask *group_mask_alloc(const struct shard_topo *topo, enum group_by by, bool bytes);

static inline void group_mask_set(struct group_mask *m, u32 cpu)
{
	const struct group_mask_slot *s = &m->slot[cpu];

	if (m->bytes)
		WRITE_ONCE(*s->byte, 1);
	else
		port_or64(s->word, s->bit);
}

static inline void group_mask_clear(struct group_mask *m, u32 cpu)
{
	const struct group_mask_slot *s = &m->slot[cpu];

	if (m->bytes)
		WRITE_ONCE(*s->byte, 0);
	else
		port_and64(s->word, ~s->bit);
}

/** group_mask_weight - walk the whole mask. Return: the number of CPUs in it. */
u32 group_mask_weight(const struct group_mask *m);

#endif
