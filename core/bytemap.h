/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The sharded byte map: one value 0..127 per CPU. A plain byte store writes it; a search loads
 * eight CPUs at once (bytemap_match.h).
 *
 * Concurrency: the caller serialises stores of one CPU, in a scheduler by its run-queue lock.
 * bytemap_alloc() and bytemap_free() exclude everything else. All other calls may overlap.
 *
 * A search reads each CPU's byte once, eight at a time, and different words at different moments. A
 * CPU whose value changes counts with its old or its new value.
 *
 * CPUs store bytes and load words of eight. The kernel's memory model (tools/memory-model) has no
 * accesses that overlap in part. The map relies on what the architectures say:
 *
 *  - An aligned load of a word, or store of a byte, is one access: x86 (Intel SDM vol. 3,
 *    "Guaranteed Atomic Operations"; AMD APM vol. 2, "Access Atomicity"), arm64 (Arm ARM,
 *    "Requirements for single-copy atomicity"), RISC-V (RVWMO, "Memory operations" of aligned
 *    accesses up to XLEN), POWER (Book II, "Single-Copy Atomicity"). A 32-bit machine loads a word
 *    in two halves, and each byte is in one of them.
 *  - Coherence holds byte by byte, whatever the sizes: a CPU that saw a byte's new value never sees
 *    an older one later. RVWMO's load value axiom and Arm's coherence order apply to each byte; x86
 *    has one order of stores.
 *  - A full barrier orders accesses of all sizes.
 *
 * The map relies on no order of two bytes of one word. x86 may take a CPU's own byte from its store
 * buffer and the others from the line.
 *
 * Context of all functions: any, unless said. Ordering: none. CPU numbers are of possible CPUs;
 * no function checks them, or values.
 */
#ifndef BYTEMAP_H
#define BYTEMAP_H

#include "port.h"
#include "shard_plan.h"

#define BYTEMAP_MAX 127u /* the word-wise compare needs bit 7 of every byte */

/* A sharded byte map; read-only except for the lines. */
struct bytemap {
	const struct shard_plan *plan; /* the plan that the map follows */
	u64 *const *line;	       /* by shard: 64 bytes by position, as 8 words */
	size_t bytes;		       /* memory of this header with its tables */
	u8 *byte[];		       /* by CPU number: the CPU's byte; NULL for a hole */
};

/* Make a map with all CPUs at @value; the plan must outlive it. NULL: no memory. May sleep. */
struct bytemap *bytemap_alloc(const struct shard_plan *plan, u8 value);

/* Free a map, or NULL. May sleep. */
void bytemap_free(struct bytemap *m);

/* Set a CPU's value by a plain store, which other CPUs may see late. Line: the shard's, written. */
static port_always_inline void bytemap_set(struct bytemap *m, u32 cpu, u8 value)
{
	WRITE_ONCE(*m->byte[cpu], value);
}

/* A CPU's value. Line: the shard's, read. */
static port_always_inline u8 bytemap_get(const struct bytemap *m, u32 cpu)
{
	return READ_ONCE(*m->byte[cpu]);
}

#endif /* BYTEMAP_H */
