/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* item.h - one action of a guest CPU, for the model and for a trace. */
#ifndef PLUGIN_ITEM_H
#define PLUGIN_ITEM_H

#include <stdbool.h>
#include <stdint.h>

enum item_kind {
	ITEM_LOAD,
	ITEM_STORE,
	ITEM_LOCKED, /* a locked operation: load and store in one */
	ITEM_IDLE,   /* the CPU halts */
	ITEM_RESUME, /* it resumes, after an instruction of another CPU, or after all were idle */
	ITEM_HOME,   /* a page belongs to the node of a CPU; programs only */
	ITEM_TIME,   /* no action: how far the CPU has come; programs only */
	ITEM_AFTER,  /* the next access sees another CPU's store; programs only */
	ITEM_KINDS,
};

#define ITEM_NO_CPU UINT32_MAX

/*
 * A byte of memory has a number of 48 bits. For kernel memory it is the virtual address without its
 * upper bits; bit 47 is set. For memory of user programs it is the physical address.
 */
#define ITEM_PLACE_BITS 48
#define ITEM_PLACE_MASK ((1ull << ITEM_PLACE_BITS) - 1)

/**
 * @place: for an access, the byte. For ITEM_RESUME and ITEM_AFTER, how many instructions CPU @pc
 *	had executed; with ITEM_NO_CPU, the picoseconds for which all CPUs have been idle since the
 *	window opened. For ITEM_HOME, a byte of the page
 * @pc: for an access, the instruction's address, 48 bits. For ITEM_RESUME and ITEM_AFTER, another
 *	CPU, or, for ITEM_RESUME only, ITEM_NO_CPU. For ITEM_HOME, the page's CPU
 * @instr: instructions that this CPU had executed by then
 * @kind: enum item_kind
 * @size: bytes of an access, at most 64
 */
struct item {
	uint64_t place;
	uint64_t pc;
	uint64_t instr;
	uint8_t kind;
	uint8_t size;
};

/* Does the item contain only the CPU's progress, and no access? */
static inline bool item_is_bare(const struct item *item)
{
	return item->kind == ITEM_IDLE || item->kind == ITEM_TIME;
}

static inline bool item_is_access(const struct item *item)
{
	return item->kind <= ITEM_LOCKED;
}

#endif
