/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The sharded byte map: one value 0..127 a CPU, written by a plain byte store,
 * searched eight CPUs a load.
 *
 * No locked instruction at all: a byte store cannot disturb its neighbours, and
 * the writers of one byte are serialised by the caller (in a scheduler they hold
 * that CPU's run-queue lock).
 *
 * Concurrency of operations on one map:
 *
 *                         | set, same CPU    | set, other CPU | get find* | alloc free
 *   bytemap_set, same CPU | caller serialises| ok             | ok        | -
 *   bytemap_set, other CPU| ok               | ok             | ok        | -
 *   bytemap_get, _find_*  | ok               | ok             | ok        | -
 *   bytemap_alloc, _free  | -                | -              | -         | -  caller excludes
 *
 * What a search guarantees while writers run: it reads the byte of every CPU that
 * it looks at exactly once, eight at a time, and judges what it read: a CPU whose
 * value changes counts with its old or its new value, never with both, never with
 * neither. Values of different words are read at different moments.
 *
 * Accesses of two sizes. Bytes are stored, words of eight are loaded. The kernel's memory model
 * (tools/memory-model) has no accesses that overlap without being the same; what is relied on
 * is what the architectures say of them:
 *
 *  - An aligned word is loaded, and a byte stored, in one access: x86 (Intel SDM vol. 3,
 *    "Guaranteed Atomic Operations"; AMD APM vol. 2, "Access Atomicity"), arm64 (Arm ARM,
 *    "Requirements for single-copy atomicity"), RISC-V (RVWMO, "Memory operations" of aligned
 *    accesses up to XLEN), POWER (Book II, "Single-Copy Atomicity"). So each byte of a word is what
 *    one store left there.
 *  - Coherence holds byte by byte, whatever the sizes: who saw a byte's new value in a word does
 *    not see an older one later, in a word or alone. RVWMO's load value axiom and Arm's
 *    coherence order are stated for each byte; x86 has one order of stores.
 *  - A full barrier orders accesses of all sizes.
 *
 * Not relied on: that a CPU's own byte store is in the word that it loads next together with
 * newer bytes of others (x86 may take the one from its store buffer and the others from the
 * line), nor any order of two bytes of one word.
 *
 * Context: alloc and free may sleep; the rest runs anywhere, interrupts included.
 * CPU numbers must be those of possible CPUs; they are not checked, nor are values.
 *
 * Lines touched is said for each function, apart from the map's header, its table
 * by CPU number and the plan, which are read-only and stay in every cache.
 */
#ifndef BYTEMAP_H
#define BYTEMAP_H

#include "port.h"
#include "shard_plan.h"

#define BYTEMAP_MAX 127u /* bit 7 of every byte is what the word-wise compare works with */

/**
 * struct bytemap - a sharded byte map
 * @plan: the plan that it was made from
 * @line: by shard: 64 bytes by position, as 8 words
 * @bytes: memory of this header with its tables
 * @byte: by CPU number: the CPU's byte; NULL for a hole
 */
struct bytemap {
	const struct shard_plan *plan;
	u64 *const *line;
	size_t bytes;
	u8 *byte[];
};

/**
 * bytemap_alloc() - make a map
 * @plan: the plan; must outlive it
 * @value: what every CPU's value is at first, 0..127
 *
 * Return: the map, NULL when there is no memory. Context: may sleep.
 */
struct bytemap *bytemap_alloc(const struct shard_plan *plan, u8 value);

/**
 * bytemap_free() - give a map back
 * @m: the map, or NULL
 */
void bytemap_free(struct bytemap *m);

/**
 * bytemap_set() - set a CPU's value
 * @m: the map
 * @cpu: CPU number
 * @value: 0..127
 *
 * A plain byte store; the caller serialises it with others of the same CPU.
 * Ordering: none. A caller that needs the value seen before something else (or
 * after) adds its own barrier, or has one in the lock that it holds. On x86 the store
 * may wait in the store buffer: another CPU sees the old value a little longer.
 * Lines touched: the shard's line, written.
 */
static port_always_inline void bytemap_set(struct bytemap *m, u32 cpu, u8 value)
{
	WRITE_ONCE(*m->byte[cpu], value);
}

/**
 * bytemap_get() - a CPU's value
 * @m: the map
 * @cpu: CPU number
 *
 * Return: what was stored last, as seen from here. Ordering: none. Lines touched: the shard's
 * line, read.
 */
static port_always_inline u8 bytemap_get(const struct bytemap *m, u32 cpu)
{
	return READ_ONCE(*m->byte[cpu]);
}

/*
 * The searches. Common to all:
 *
 * @allowed: ordinary mask of plan->nr_cpus bits by CPU number; only its CPUs
 *	     count, bits of holes are ignored; NULL: all possible CPUs
 * @from_cpu: CPU number that "nearest" is meant from: own shard, same LLC, same
 *	     node, same package, the rest; in a shard by position
 * @found: NULL, or an ordinary mask of the caller's own that is overwritten with
 *	     all CPUs found
 * @first_cpu: NULL, or where to store the number of the nearest CPU found, -1 when
 *	     none was
 *
 * Ordering: none. Lines touched: of the map only lines of shards that have an
 * allowed CPU, nearest shard first, and without @found none after the hit that settles the
 * answer. How the allowed CPUs are found: a dense mask is gathered shard by shard, of a
 * sparse one its own CPUs are looked up.
 */

/**
 * bytemap_find_equal() - CPUs whose value is the one given
 * @m: the map
 * @value: 0..127
 * @allowed: see above
 * @from_cpu: see above
 * @found: see above
 * @first_cpu: see above
 *
 * Return: how many were found; without @found 1 or 0.
 */
u32 bytemap_find_equal(const struct bytemap *m, u8 value, const unsigned long *allowed,
		       u32 from_cpu, unsigned long *found, s64 *first_cpu);

/**
 * bytemap_find_below() - CPUs whose value is lower than a limit
 * @m: the map
 * @limit: 0..128; 0 finds none
 * @allowed: see above
 * @from_cpu: see above
 * @found: see above
 * @first_cpu: see above
 *
 * Return: how many were found; without @found 1 or 0.
 */
u32 bytemap_find_below(const struct bytemap *m, u8 limit, const unsigned long *allowed,
		       u32 from_cpu, unsigned long *found, s64 *first_cpu);

/**
 * bytemap_find_min() - CPUs at the lowest value of all, if that is below a limit
 * @m: the map
 * @limit: 0..128; only values below count
 * @allowed: see above
 * @from_cpu: see above
 * @found: see above: all CPUs at the lowest value
 * @first_cpu: see above: the nearest of them
 *
 * One pass: the value returned is the lowest of those read, and @found are the CPUs
 * that were read at it, so that a value that rises or falls meanwhile counts as old or
 * as new. Without @found the search ends early only at value 0.
 *
 * Return: the lowest value, -1 when no allowed CPU is below @limit.
 */
int bytemap_find_min(const struct bytemap *m, u8 limit, const unsigned long *allowed, u32 from_cpu,
		     unsigned long *found, s64 *first_cpu);

#endif /* BYTEMAP_H */
