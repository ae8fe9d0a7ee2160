/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * explore_internal.h - shared by the machine's files: its state, and each CPU's view of memory.
 *
 *   explore_machine.c  set-up, processes and steps
 *   explore_program.c  the functions that programs call: accesses, names, results
 *   explore_hash.c     the hash of a state
 *   explore_weak.c     the model "weak": histories of words, and what each CPU knows of them
 *   explore_memory.c   memory overlaid with store buffers
 *   explore_state.c    the state itself, and its failures
 *
 * A file uses only files below it in this list.
 */
#ifndef SIM_EXPLORE_INTERNAL_H
#define SIM_EXPLORE_INTERNAL_H

#include "explore_machine.h"
#include "fiber.h"

#define X_NO_CPU    (-1)
#define X_HEAP_SIZE (16u << 10) /* bytes that one body may allocate */
#define X_MAX_LINES (1u << 16)	/* 4 MiB of shared memory, a thousand times what cases need */

struct x_buffered {
	uint64_t addr, val;
	const void *pc;
	uint8_t size;
	uint8_t kind; /* X_STORE or X_RMW */
	uint8_t rmw;
	bool plain;
};

struct x_cpu {
	struct x_op next;  /* the program's next operation */
	struct x_op flush; /* the oldest buffered store as an operation */
	uint64_t answer;   /* what the operation returns to the program */
	uint64_t seen[2];  /* hash of all returned values, and of the number of steps */
	char *heap;	   /* lines for port_alloc(), the same in every execution */
	size_t heap_used;
	uint32_t head, tail; /* buffered stores are buf[head..tail-1] */
	uint32_t flushed;    /* entries that have left the buffer since the start */
	bool done;
	struct x_buffered buf[X_BUFFER_DEPTH];
};

/* The machine. Fields sorted by use: all files, set-up and reset, reports. */
struct x_world {
	struct x_cpu cpus[EXPLORE_MAX_CPUS];
	struct fiber *fibers;
	struct fiber scheduler;
	const struct explore_case *the_case;
	uint64_t memory_hash[2];
	uint64_t *ghosts;    /* in the arena */
	uint8_t *const_line; /* by arena line: explore_const() */
	int running;	     /* CPU whose fiber runs, or X_NO_CPU */
	uint32_t nr_cpus;
	uint32_t steps; /* since the start of the execution */
	enum x_model model;
	bool hashing;
	bool gave_up; /* explore_give_up() in this execution */
	uint64_t results[EXPLORE_RESULTS];
	struct x_failure failure;
};

extern struct x_world xw;

/* Access memory, past all buffers. Writes update the state's hash. */
void x_mem_write(uint64_t addr, uint32_t size, uint64_t val);
uint64_t x_mem_read(uint64_t addr, uint32_t size);

/* Return what the CPU sees at @addr: memory overlaid with its own buffered stores. */
uint64_t x_view(const struct x_cpu *c, uint64_t addr, uint32_t size);

/* Apply a CPU's buffered stores, oldest first, to a copy of memory at @addr. */
void x_lay_over(const struct x_cpu *c, uint64_t addr, uint32_t size, uint8_t *bytes);

/* Remove the words of a range from the state's hash (@sign -1) or add them (1). */
void x_hash_range(uint64_t addr, uint32_t size, uint64_t sign);

/* Add a value that the program received to its hash. */
void x_hash_seen(struct x_cpu *c, uint64_t val);

/* Discard all names from explore_name(). */
void x_forget_names(void);

static inline uint64_t x_mix(uint64_t x)
{
	/* A full-avalanche permutation of 64 bits (multiply and shift, three rounds). */
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
	x = (x ^ (x >> 29)) * 0x9fb21c651e98df25ull;
	return x ^ (x >> 32);
}

/* Add a value to a hash; the order of values matters. */
static inline void x_hash_add(struct x_hash *h, uint64_t val)
{
	h->lo = x_mix(h->lo + val) + 1;
	h->hi = x_mix(h->hi ^ (val * 0x9e3779b97f4a7c15ull)) + 3;
}

/*
 * The model "weak". x_weak_address() is called before an operation is proposed. x_weak_barrier() is
 * for barriers that are not steps. x_weak_plain_store() is called before the program performs a
 * plain store, and enters the store in the history; x_weak_plain_stored() is called after the
 * store.
 */
void x_weak_init(void);
void x_weak_reset(void);
void x_weak_address(struct x_cpu *c, uint64_t addr);
void x_weak_barrier(struct x_cpu *c, bool loads, bool stores);
uint32_t x_weak_alternatives(const struct x_cpu *c);
uint64_t x_weak_perform(struct x_cpu *c, const struct x_op *op, uint32_t alt, struct x_event *ev);
void x_weak_plain_load(struct x_cpu *c, const struct x_op *op, uint64_t val);
void x_weak_plain_store(struct x_cpu *c, const struct x_op *op);
void x_weak_plain_stored(const struct x_op *op);
void x_weak_allocated(struct x_cpu *c, uint64_t addr, uint32_t size);

static inline bool x_overlap(uint64_t a, uint32_t as, uint64_t b, uint32_t bs)
{
	return a < b + bs && b < a + as;
}

#endif
