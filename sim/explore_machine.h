/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * explore_machine.h - the abstract machine whose interleavings are explored.
 *
 * Each simulated CPU is two processes that a schedule may pick:
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
 * A third model, "posted", is x86-TSO but for one thing: an atomic operation whose order
 * is relaxed and whose result nobody wants (port_or64() and its like) enters the buffer too,
 * and is done, atomically, when it is flushed; a load of the same bytes waits for that. Processors
 * with far atomics, such as arm64's, do this. x86 does not, which is why
 * smp_mb__after_atomic() is nothing there; this model shows what it is for.
 *
 * The fourth model, "weak", has no buffers: each load may return an old value, within what barriers
 * and coherence leave, so that loads pass loads and stores, and stores pass stores; explore_weak.c.
 *
 * A step runs one operation and then the program up to, not including, its next one,
 * so that between two steps the next operation of every process is known.
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
#define X_MAX_STEPS    2000 /* of one execution; more is reported as a loop without end */
#define X_BUFFER_DEPTH 64   /* stores a CPU; x86 cores have 42 to 72, cases need 10 */

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

/* How a step touches memory, as far as other CPUs can tell. */
enum x_touch { X_TOUCH_NONE, X_TOUCH_READ, X_TOUCH_WRITE };

/* The next operation of a process. */
struct x_op {
	uint64_t addr;
	uint64_t val;	   /* stored value, operand, or value that a CAS would write */
	uint64_t expected; /* CAS only */
	const void *pc;
	uint8_t kind;	/* enum x_kind */
	uint8_t size;	/* bytes */
	uint8_t rmw;	/* enum sim_rmw_op */
	uint8_t mo;	/* memory order, as the compiler passes it */
	bool plain;	/* not atomic: the program touches memory by itself after the step */
	bool ghost;	/* bookkeeping of the case, no real memory: never buffered */
	bool buffered;	/* enters the store buffer */
	bool posted;	/* flush of an atomic operation, not of a store */
	uint32_t after; /* enabled when so many entries of the CPU's buffer were flushed */
};

/* What a step did. */
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
	bool old_value; /* a load returned what was not the newest */
	uint8_t alt;	/* which of the operation's x_alternatives() was taken */
	uint32_t after; /* flushes of the own buffer that it had to wait for */
};

/* First thing that went wrong in an execution. */
struct x_failure {
	bool found;
	int cpu;	/* -1: final check, or not of one CPU */
	uint32_t steps; /* steps taken when it was noticed */
	char text[200];
};

/**
 * x_machine_init - build the case's initial state.
 * @hashing: keep the state hash up to date (costs a little every step)
 *
 * Runs the case's set-up, remembers the memory it left and prepares one fiber a CPU.
 * Called again, it starts over. Aborts when memory is short.
 */
void x_machine_init(const struct explore_case *c, uint32_t nr_cpus, enum x_model model,
		    bool hashing);

/* Back to the initial state, every program before its first operation. */
void x_machine_reset(void);

/* Set of processes whose next operation can be done now, as a bit mask. */
uint32_t x_enabled(void);

/* Set of programs that have not ended, as a bit mask. */
uint32_t x_unfinished(void);

/* The next operation of @proc, valid until it steps; kind X_NONE when there is none. */
const struct x_op *x_pending(unsigned int proc);

/* In how many ways can the next operation of an enabled process be done? 0 is the newest value. */
uint32_t x_alternatives(unsigned int proc);

/* What that operation would touch. Depends on the operation alone, not on the state. */
enum x_touch x_op_touch(const struct x_op *op);

/**
 * x_step - perform the next operation of an enabled process.
 * @proc: a process in x_enabled()
 * @alt: below x_alternatives(@proc)
 * @ev: what happened
 */
void x_step(unsigned int proc, uint32_t alt, struct x_event *ev);

/* Run the case's final check; call when x_enabled() is 0 and all programs ended. */
void x_final_check(void);

const struct x_failure *x_failure(void);
void x_fail_at(int cpu, const char *text);

/* Values given to explore_result() in this execution, EXPLORE_RESULTS of them. */
const uint64_t *x_results(void);

/* 128-bit hash of the state: memory, buffers, and what every program has seen. */
struct x_hash {
	uint64_t lo, hi;
};
struct x_hash x_state_hash(void);

/* "object+offset" of a shared address, into @buf. */
void x_object_name(uint64_t addr, char *buf, size_t size);

#endif
