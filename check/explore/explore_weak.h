/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * explore_weak.h - the state of the memory model "weak", which explore_weak.c changes and
 * explore_hash.c hashes.
 */
#ifndef SIM_EXPLORE_WEAK_H
#define SIM_EXPLORE_WEAK_H

#include "explore_internal.h"

#define MAX_WORDS    512   /* words that programs write */
#define MAX_MESSAGES 4096  /* stores per execution */
#define MAX_STORES   255   /* stores to one word */
#define MAX_POINTERS 64	   /* pointers that one program loads */
#define NOBODY	     0xffu /* owner of a byte that set-up wrote */
#define TABLE_SIZE   (4 * MAX_WORDS)

struct view {
	uint8_t at[MAX_WORDS]; /* by word: the store; 0: none of this execution */
};

struct message {
	uint64_t val;	   /* the whole word after the store */
	uint8_t owner[8];  /* by byte: the CPU that stored it last */
	uint8_t bytes;	   /* mask of the bytes that this store wrote */
	struct view known; /* the view of the store */
	struct view strong;
};

struct word {
	uint64_t addr;
	uint32_t newest;
	bool allocated; /* its first store is the zeroing by the allocator */
	uint64_t initial;
	uint16_t message[MAX_STORES + 1];
};

/* The allocation into which a loaded pointer points, and the CPU's view at that load. */
struct pointer {
	const struct arena_object *to;
	struct view read;
};

/* State of a CPU. */
struct weak_cpu {
	struct view current, read, stored, before, strong;
	uint32_t nr_pointers;
	struct pointer pointer[MAX_POINTERS];
};

struct x_weak {
	struct weak_cpu cpus[EXPLORE_MAX_CPUS];
	struct view fences, seen;
	uint32_t nr_messages;
	uint32_t nr_words; /* not reset between executions */
	struct message messages[MAX_MESSAGES];
	struct message first; /* the initial store of every word: from set-up */
	struct word words[MAX_WORDS];
};

extern struct x_weak xk;

static inline struct message *message_of(uint32_t w, uint32_t k)
{
	return k ? &xk.messages[xk.words[w].message[k]] : &xk.first;
}

static inline uint64_t value_of(uint32_t w, uint32_t k)
{
	return k ? xk.messages[xk.words[w].message[k]].val : xk.words[w].initial;
}

#endif
