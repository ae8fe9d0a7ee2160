/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * linux_overload.h - the CPUs with RT tasks to push: a mask, and one or several counters, which let
 * most readers do without the mask.
 *
 * A CPU sets its bit before it raises the counter, and a reader reads the counter before the mask.
 * So a reader that sees the raised counter sees the bit. When a CPU leaves, the order does not
 * matter.
 */

#if COUNTS == COUNTS_NONE
#include "linux_rto.h"
#else
#if MASKS == MASKS_SBM

static bool overload_alloc_mask(struct rd *rd)
{
	rd_label("rto_mask", "struct rd_sbm_line");
	rd->root->rto_mask = sbm_alloc(rd->plan, 0);
	return rd->root->rto_mask;
}

static void overload_free_mask(struct rd *rd)
{
	sbm_destroy(rd->root->rto_mask);
}

static size_t overload_mask_bytes(const struct rd *rd)
{
	return sbm_bytes(rd->root->rto_mask);
}

static port_always_inline bool overload_has(const struct rd *rd, u32 cpu)
{
	return sbm_test(rd->root->rto_mask, cpu);
}

static s64 next_overloaded(const struct rd *rd, s64 cpu)
{
	return cpu < 0 ? sbm_first_cpu(rd->root->rto_mask)
		       : sbm_next_cpu(rd->root->rto_mask, (u32)cpu);
}

static port_always_inline void overload_mark(struct rd *rd, u32 cpu, bool on)
{
	if (on)
		sbm_set(rd->root->rto_mask, cpu);
	else
		sbm_clear(rd->root->rto_mask, cpu);
}

#else

static bool overload_alloc_mask(struct rd *rd)
{
	rd->root->rto_mask = mask_slab_take(&rd->slab);
	return true;
}

static void overload_free_mask(struct rd *rd)
{
	(void)rd; /* the mask is in rd->slab */
}

static size_t overload_mask_bytes(const struct rd *rd)
{
	return rd->slab.stride;
}

static port_always_inline bool overload_has(const struct rd *rd, u32 cpu)
{
	return READ_ONCE(rd->root->rto_mask[cpu / 64]) >> cpu % 64 & 1;
}

static s64 next_overloaded(const struct rd *rd, s64 cpu)
{
	const unsigned long *mask = rd->root->rto_mask;
	u32 from = (u32)(cpu + 1);

	for (u32 i = from / 64; i < rd->words; i++) {
		u64 word = READ_ONCE(mask[i]);

		if (i == from / 64)
			word &= ~0ull << from % 64;
		if (word)
			return i * 64 + port_ctz64(word);
	}
	return -1;
}

static port_always_inline void overload_mark(struct rd *rd, u32 cpu, bool on)
{
	u64 *word = (u64 *)&rd->root->rto_mask[cpu / 64];

	if (on)
		port_or64(word, 1ull << cpu % 64);
	else
		port_and64(word, ~(1ull << cpu % 64));
}

#endif

#if COUNTS == COUNTS_ONE

static bool overload_alloc_counts(struct rd *rd)
{
	return rd->root->rto_count == 0;
}

static void overload_free_counts(struct rd *rd)
{
	overload_free_mask(rd);
}

static port_always_inline u32 *overload_count(const struct rd *rd, u32 cpu)
{
	return &rd->root->rto_count;
}

static port_always_inline u32 overload_sum(const struct rd *rd, u32 this_cpu)
{
	return READ_ONCE(rd->root->rto_count);
}

static size_t overload_bytes(const struct rd *rd)
{
	return overload_mask_bytes(rd) + sizeof(rd->root->rto_count) + sizeof(rd->root->rto_mask);
}

#else

static void overload_free_counts(struct rd *rd)
{
	for (u32 i = 0; rd->root->rto_counts && i < rd->counted.nr; i++)
		port_free(rd->root->rto_counts[i], sizeof(u32));
	port_free(rd->root->rto_counts, rd->counted.nr * sizeof(u32 *));
	overload_free_mask(rd);
}

static bool overload_alloc_counts(struct rd *rd)
{
	u32 **counts = port_alloc(rd->counted.nr * sizeof(*counts), rd->home);

	rd->root->rto_counts = counts;
	if (!counts)
		return false;
	rd_label("rto_counts", "struct rd_count_line");
	for (u32 i = 0; i < rd->counted.nr; i++) {
		counts[i] = port_alloc(sizeof(u32), rd->counted.node[i]);
		if (!counts[i])
			return false;
	}
	return true;
}

static port_always_inline u32 *overload_count(const struct rd *rd, u32 cpu)
{
	return rd->root->rto_counts[rd->counted.of[cpu]];
}

/* Only 0, 1 or more matters, so the sum stops at 2. The caller's group comes first. */
static port_always_inline u32 overload_sum(const struct rd *rd, u32 this_cpu)
{
	u32 nr = rd->counted.nr, own = rd->counted.of[this_cpu], sum = 0;

	for (u32 i = 0; i < nr && sum < 2; i++)
		sum += READ_ONCE(*rd->root->rto_counts[(own + i) % nr]);
	return sum;
}

static size_t overload_bytes(const struct rd *rd)
{
	return overload_mask_bytes(rd) + sizeof(rd->root->rto_mask) + sizeof(rd->root->rto_counts) +
	       rd->counted.nr * (sizeof(u32 *) + PORT_CACHELINE);
}

#endif

static void overload_set_cpu(struct rd *rd, u32 cpu, u64 shards)
{
	overload_mark(rd, cpu, true);
	smp_wmb(); /* pairs with smp_rmb() in overloaded(), the acquire in next_stop() */
	atomic_inc32(overload_count(rd, cpu));
	if (MASKS == MASKS_NONE)
		smp_mb__after_atomic(); /* P2 of core/sched/cpupri.c: pairs with F2 */
}

static void overload_clear_cpu(struct rd *rd, u32 cpu)
{
	atomic_dec32(overload_count(rd, cpu));
	overload_mark(rd, cpu, false);
}

static u32 overloaded(struct rd *rd, u32 this_cpu, u64 *from)
{
	u32 count;

	*from = RD_FROM_ALL;
	if (MASKS == MASKS_NONE)
		smp_mb(); /* F2 of core/sched/cpupri.c: pairs with P2 in overload_set_cpu() */
	count = overload_sum(rd, this_cpu);
	if (!count)
		return 0;
	smp_rmb(); /* the counter before the mask; pairs with smp_wmb() in overload_set_cpu() */
	return count == 1 && overload_has(rd, this_cpu) ? RD_ONLY_ME : RD_OTHERS;
}

static s64 next(const struct rd *rd, u32 this_cpu, u64 from, s64 cpu)
{
	return next_overloaded(rd, cpu);
}
#endif
