/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Claims of the sharded bitmap, for user space: a claim finds a set bit and clears it in one pass.
 * They are for pools. A set bit says that something is free: a worker, a buffer, a tag. The thread
 * that cleared the bit owns what it stands for, until sbm_put() sets the bit again.
 *
 * Concurrency: claims and puts may overlap with each other, and with all calls that may overlap in
 * sbm.h. No two claims get the same bit. A claim succeeds if a bit is set throughout the call, and
 * never gets a bit that is clear throughout. It may miss a bit that others put into a shard that it
 * has already searched.
 *
 * A claim looks at the bit of @from_cpu, then at its core, its L2, its shard from its position on,
 * and then at the other shards, nearest first. In each of these, callers begin at different
 * positions, so that callers that search a full shard do not contend for one bit.
 *
 * A claim clears @from_cpu's bit without a load before it, so that the line is fetched once, not
 * twice. Therefore a claim writes that shard's line even if it finds nothing there. For a set that
 * is mostly empty use SBM_SUMMARY, so that a claim writes only lines that the summary names.
 *
 * Context: any. Ordering: a full barrier if a bit is claimed, else none. The barrier pairs with
 * sbm_put(): what the caller of sbm_put() did before is visible to the claimer. CPU numbers: as in
 * sbm.h.
 */
#ifndef SBM_CLAIM_H
#define SBM_CLAIM_H

#include "sbm.h"

/*
 * Claim the CPU nearest to @from_cpu among those whose bit is set. Return: its number, or -1 for
 * none. Lines touched: that of @from_cpu's shard, written; those of near shards, up to the hit.
 */
s64 sbm_claim_near(struct sbm *b, u32 from_cpu);

/*
 * As sbm_claim_near(), but only among the CPUs of @allowed, a cpumask of plan->nr_cpus bits; NULL
 * allows all. Lines touched: as sbm_claim_near(), but only those of shards that have a CPU in
 * @allowed.
 */
s64 sbm_claim_and(struct sbm *b, const unsigned long *allowed, u32 from_cpu);

/**
 * sbm_claim_n() - claim several CPUs, nearest first
 * @b: the bitmap
 * @from_cpu: CPU number to start from
 * @n: how many
 * @cpus: receives their numbers
 *
 * Claims all CPUs that it needs from a shard in one atomic operation. Return: how many it claimed;
 * fewer than @n if it found no more.
 */
u32 sbm_claim_n(struct sbm *b, u32 from_cpu, u32 n, u32 *cpus);

/*
 * Return what a claim got, or make it available for the first time. This is an sbm_set() that
 * releases. Ordering: all earlier accesses come before it. ThreadSanitizer understands it as a
 * release. Lines touched: as sbm_set().
 */
static port_always_inline void sbm_put(struct sbm *b, u32 cpu)
{
	uintptr_t at = b->at[cpu];

	port_or64_release(sbm_word(at), sbm_bit(at));
	if (b->summary)
		shard_summary_note(b->summary, b->plan->slot[cpu].shard);
}

#endif /* SBM_CLAIM_H */
