/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * counts.h - counts the calls of chosen functions, and the instructions in them.
 *
 * Concurrency: any thread calls counts_begin() and counts_add(). Only the vCPU's thread calls
 * counts_before() and counts_after(). counts_json() needs stopped vCPUs or a closed window.
 */
#ifndef PLUGIN_COUNTS_H
#define PLUGIN_COUNTS_H

#include <jansson.h>

#include "vcpu.h"

#define NO_FUNCTION UINT32_MAX

/**
 * struct block - code that always executes from its beginning
 * @instr: its instructions
 * @locked: locked ones among them
 * @entry: address of its first instruction
 * @enters: the function that begins with its first instruction, or NO_FUNCTION
 * @leaves: the function that its last instruction leaves, or NO_FUNCTION
 */
struct block {
	uint64_t entry;
	uint32_t instr, locked;
	uint32_t enters, leaves;
};

struct insn;

/** counts_begin - start to describe a block that begins at @pc. */
void counts_begin(struct block *b, const struct watch *w, uint64_t pc);

/** counts_add - the block's next instruction. */
void counts_add(struct block *b, const struct watch *w, const struct insn *insn, uint64_t pc);

/**
 * counts_wanted - does the block need more than a count of its instructions?
 */
static inline bool counts_wanted(const struct block *b)
{
	return b->enters != NO_FUNCTION || b->leaves != NO_FUNCTION;
}

/**
 * counts_before, counts_after - the block executes
 *
 * Call counts_before() before, and counts_after() after the block's instructions were added to the
 * vCPU's counters.
 */
void counts_before(struct vcpu *v, const struct block *b);
void counts_after(struct vcpu *v, const struct block *b);

json_t *counts_json(void);

#endif
