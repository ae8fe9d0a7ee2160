/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * explore_machine.h - the abstract machine whose interleavings the explorer runs.
 *
 * Each simulated CPU consists of two processes, which a schedule may pick:
 *
 *   process c             CPU c's program: performs its next memory operation
 *   process BUFFER(c)     CPU c's store buffer: makes its oldest store visible
 *
 *   operation       | x86-TSO                                | sequential consistency
 *   ----------------+----------------------------------------+-----------------------
 *   store           | enters the buffer; no other CPU sees it | takes effect
 *   load            | newest own buffered bytes, else memory  | memory
 *   locked, seq_cst | waits for an empty buffer, takes effect | takes effect
 *   store           |                                         |
 *   full fence      | waits for an empty buffer               | nothing
 *   weaker fences   | nothing (not even a step)               | nothing
 *   flush           | oldest buffered store takes effect      | never enabled
 *
 * A third model, "posted", is x86-TSO with one difference: an atomic operation with relaxed order
 * and without a result (such as port_or64()) also enters the buffer. The flush performs the
 * operation atomically, and a load of the same bytes waits for the flush. Processors with far
 * atomics, such as those of arm64, do this. x86 does not, which is why smp_mb__after_atomic() is
 * empty there. The model shows why other processors need that barrier.
 *
 * The fourth model, "weak", has no buffers. Each load may return an old value, within the limits of
 * barriers and coherence. So loads pass loads and stores, and stores pass stores; see
 * explore_weak.c.
 *
 * A step performs one operation, and then runs the program until just before its next operation.
 * So between two steps the next operation of every process is known.
 */
#ifndef SIM_EXPLORE_MACHINE_H
#define SIM_EXPLORE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "explore_case.h"

#define X_NR_PROCS     (2 * EXPLORE_MAX_CPUS)
#define X_BUFFER(cpu)  (EXPLORE_MAX_CPUS + (cpu))
#define X_IS_BUFFER(p) ((p) >= EXPLORE_MAX_CPUS)
#define X_CPU(p)       ((p) % EXPLORE_MAX_CPUS)
#define X_MAX_STEPS    2000 /* per execution; more count as an endless loop */
#define X_BUFFER_DEPTH 64   /* stores per CPU; x86 cores have 42 to 72, cases need 10 */

enum x_model { X_SC, X_TSO, X_POSTED, X_WEAK };

enum x_kind {
	X_NONE, /* the process has nothing to do */
	X_LOAD,
	X_STORE,
	X_RMW,
	X_CAS,
	X_FENCE,
	X_FLUSH,
};

/* How a step touches memory, as far as other CPUs can observe. */
enum x_touch { X_TOUCH_NONE, X_TOUCH_READ, X_TOUCH_WRITE };

/* The next operation of a process. */
struct x_op {
	uint64_t addr;
	uint64_t val;	   /* value to store, operand, or new value of a CAS */
	uint64_t expected; /* CAS only */
	const void *pc;
	uint8_t kind;	/* enum x_kind */
	uint8_t size;	/* bytes */
	uint8_t rmw;	/* enum sim_rmw_op */
	uint8_t mo;	/* memory order, as the compiler passes it */
	bool plain;	/* not atomic: the program accesses memory itself after the step */
	bool ghost;	/* a ghost variable, not real memory: never buffered */
	bool buffered;	/* enters the store buffer */
	bool posted;	/* the flush of an atomic operation, not of a store */
	uint32_t after; /* enabled after this number of flushes of the CPU's buffer */
};

/* The effect of a step. */
struct x_event {
	uint64_t addr;
	uint64_t val; /* loaded, stored or flushed value; RMW, CAS: the value left in memory */
	uint64_t old; /* RMW and CAS: the value found */
	const void *pc;
	uint8_t proc;
	uint8_t kind;
	uint8_t size;
	uint8_t touch; /* enum x_touch */
	bool plain;
	bool ghost;
	bool buffered;
	bool posted;
	bool old_value; /* a load returned a value that was not the newest */
	uint8_t alt;	/* which of the operation's x_alternatives() was taken */
	uint32_t after; /* number of flushes of its CPU's buffer before it was enabled */
};

/* The first failure of an execution. */
struct x_failure {
	bool found;
	int cpu;	/* -1: final check, or more than one CPU */
	uint32_t steps; /* steps taken before the failure */
	char text[200];
};

/**
 * x_machine_init - build the case's initial state.
 * @hashing: update the state hash (a small cost per step)
 *
 * Runs the case's set-up, saves the memory after it and prepares one fiber per CPU. A second call
 * starts over. Aborts when memory is short.
 */
void x_machine_init(const struct explore_case *c, uint32_t nr_cpus, enum x_model model,
		    bool hashing);

/* Restore the initial state, with every program before its first operation. */
void x_machine_reset(void);

/* Set of processes whose next operation is enabled, as a bit mask. */
uint32_t x_enabled(void);

/* Set of programs that have not ended, as a bit mask. */
uint32_t x_unfinished(void);

/* The next operation of @proc, valid until it steps; kind X_NONE when there is none. */
const struct x_op *x_pending(unsigned int proc);

/*
 * The number of alternatives for an enabled process's next operation; alternative 0 uses the newest
 * value.
 */
uint32_t x_alternatives(unsigned int proc);

/* How an operation touches memory. Depends only on the operation, not on the state. */
enum x_touch x_op_touch(const struct x_op *op);

/**
 * x_step - perform the next operation of an enabled process.
 * @proc: a process in x_enabled()
 * @alt: which alternative, below x_alternatives(@proc)
 * @ev: receives the effect
 */
void x_step(unsigned int proc, uint32_t alt, struct x_event *ev);

/* Run the case's final check. Call it when x_enabled() is 0 and all programs have ended. */
void x_final_check(void);

const struct x_failure *x_failure(void);
void x_fail_at(int cpu, const char *text);

/* Record the failure of two conflicting accesses, one of them not atomic. */
void x_fail_race(uint64_t addr, unsigned int cpu_a, unsigned int cpu_b);

/* The EXPLORE_RESULTS values passed to explore_result() in this execution. */
const uint64_t *x_results(void);

/* 128-bit hash of the state: memory, buffers, and all values that programs received. */
struct x_hash {
	uint64_t lo, hi;
};
struct x_hash x_state_hash(void);

/* Write "object+offset" of a shared address into @buf. */
void x_object_name(uint64_t addr, char *buf, size_t size);

#endif
