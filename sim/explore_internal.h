/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * explore_internal.h - what the files of the machine share: its one state, and memory as its
 * CPUs see it.
 *
 *   explore_machine.c   set-up, processes and steps
 *   explore_memory.c    memory, store buffers laid over it, and the state's hash
 *   explore_weak*.c     the model weak: histories of words, and what each CPU knows of them
 *   explore_program.c   what programs call: accesses, allocation, results
 */
#ifndef SIM_EXPLORE_INTERNAL_H
#define SIM_EXPLORE_INTERNAL_H

#include "explore_machine.h"
#include "fiber.h"

#define X_NO_CPU    (-1)
#define X_HEAP_SIZE (16u << 10) /* bytes that one body may allocate */
#define X_MAX_LINES (1u << 16)	/* 4 MiB of shared memory, a thousand times what cases use */

struct x_buffered {
	uint64_t addr, val;
	const void *pc;
	uint8_t size;
	uint8_t kind; /* X_STORE or X_RMW */
	uint8_t rmw;
	bool plain;
};

struct x_cpu {
	struct x_op next;  /* program's next operation */
	struct x_op flush; /* oldest buffered store as an operation */
	uint64_t answer;   /* what the program's operation returns to it */
	uint64_t seen[2];  /* hash of all that was returned to it, and of how many steps */
	char *heap;	   /* for port_alloc(): the same lines in every execution */
	size_t heap_used;
	uint32_t head, tail; /* buffered stores are buf[head..tail-1] */
	uint32_t flushed;    /* entries that have left the buffer since the start */
	bool done;
	struct x_buffered buf[X_BUFFER_DEPTH];
};

/* The machine. Sorted by who uses it: all, set-up and reset, reports. */
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

/* Memory, past all buffers. Writes keep the state's hash up to date. */
void x_mem_write(uint64_t addr, uint32_t size, uint64_t val);
uint64_t x_mem_read(uint64_t addr, uint32_t size);

/* What the CPU sees at @addr: memory with its own buffered stores laid over it. */
uint64_t x_view(const struct x_cpu *c, uint64_t addr, uint32_t size);

/* Lay a CPU's buffered stores, oldest first, over a copy of memory at @addr. */
void x_lay_over(const struct x_cpu *c, uint64_t addr, uint32_t size, uint8_t *bytes);

/* Take the words of a range out of the state's hash (@sign -1) or put them in (1). */
void x_hash_range(uint64_t addr, uint32_t size, uint64_t sign);

/* The program has been given a value. */
void x_hash_seen(struct x_cpu *c, uint64_t val);

/* For arena.h's arena_port_alloc. */
void *x_heap_alloc(size_t size);

/* Forget all names given by explore_name(). */
void x_forget_names(void);

/* Put a value into a state's hash; the order matters. */
void x_hash_add(struct x_hash *h, uint64_t val);

/*
 * The model weak. Before an operation is proposed: x_weak_address(). Barriers that are no
 * steps: x_weak_barrier(). A plain store is taken into the history before the program performs it,
 * and x_weak_plain_stored() when it has.
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
void x_weak_hash(struct x_hash *h);

static inline bool x_overlap(uint64_t a, uint32_t as, uint64_t b, uint32_t bs)
{
	return a < b + bs && b < a + as;
}

#endif
