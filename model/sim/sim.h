/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * sim.h - programs of the simulated machine: one body per CPU, and the functions that bodies may
 * call.
 *
 * A body is ordinary C compiled with -fsanitize=thread. Its accesses to memory of the arena take
 * simulated time. Other work takes none, except sim_spend() and the like. Exactly one body runs at
 * a time: the one with the earliest clock. That body may run ahead of the others by the shortest
 * time in which one core can affect another.
 *
 * The same machine, seed and program give the same result, byte for byte.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "model.h"
#include "stats.h"

/**
 * sim_init - start a new simulated machine: empty arena, cold caches, time 0.
 * @model: must exist until sim_exit()
 * @seed: seed of all random decisions
 *
 * Return: 0, or -1 if there is no memory.
 */
int sim_init(const struct model *model, uint64_t seed);
void sim_exit(void);

/**
 * sim_relax_takes - let each cpu_relax() take @ps picoseconds. sim_init() sets 0.
 *
 * A pause instruction in a waiting loop delays the loop's next load.
 */
void sim_relax_takes(uint64_t ps);

/**
 * sim_give_up_after - detect a simulation without progress. If no CPU has stored anything in about
 *	3 x @accesses accesses, and none is still computing (sim_compute()), print each CPU's state
 *	to stderr, a line each, and exit with 1. 0, the default after sim_init(), switches this off.
 *
 * A body that spins without accessing the arena or calling sim_compute() is not detected, because
 * only accesses are counted.
 */
void sim_give_up_after(uint64_t accesses);

/** sim_spawn - let @body(cpu, arg) run on @cpu from time @start (picoseconds). Before sim_run(). */
void sim_spawn(uint32_t cpu, void (*body)(uint32_t cpu, void *arg), void *arg, uint64_t start);

/** sim_run - run until every body has returned. Return: simulated picoseconds. */
uint64_t sim_run(void);

/* ---- for bodies ---- */

/** sim_now - this CPU's clock, picoseconds. */
uint64_t sim_now(void);

/** sim_spend - compute for @ps picoseconds without touching shared memory. */
void sim_spend(uint64_t ps);

/**
 * sim_compute - compute until done, or until an interrupt.
 * @ps: picoseconds without touching shared memory; UINT64_MAX: idle until an interrupt
 *
 * Return: the part of @ps that is left: 0 if all of it is over, more if an interrupt came first. An
 * interrupt that arrived while the CPU did not compute ends the next call at once.
 */
uint64_t sim_compute(uint64_t ps);

/**
 * sim_interrupt - interrupt @cpu after @delay picoseconds of the caller's clock.
 *
 * The receiver sees what the sender stored before. Pending interrupts merge into one, so sender and
 * receiver must keep the purpose elsewhere. A CPU may interrupt itself.
 */
void sim_interrupt(uint32_t cpu, uint64_t delay);

/** sim_store_waits - is a store of @cpu to the line of @addr still in its store buffer? */
bool sim_store_waits(uint32_t cpu, const volatile void *addr);

/**
 * sim_take_source - return where the running CPU found the line of its last load or locked
 * operation that had to wait; SOURCE_HIT if none has waited since this function was called last.
 */
enum source sim_take_source(void);

/**
 * sim_recount - count the running CPU's last access at program counter @pc instead. Call it right
 * after the access, and only if sim_take_source() did not return SOURCE_HIT: only then was this
 * access the last one counted.
 */
void sim_recount(const void *pc);

/** sim_random - return the next number of this CPU's own generator. */
uint64_t sim_random(void);

/**
 * sim_about - return a duration that is uniform in [0.5, 1.5] x @mean, so that threads that do the
 *	       same do not run in lockstep.
 */
static inline uint64_t sim_about(uint64_t mean)
{
	return mean / 2 + sim_random() % (mean + 1);
}

/** sim_measure_from_here - discard the statistics of the warm-up. */
void sim_measure_from_here(void);

/**
 * sim_observe - call @look(arg) now, outside simulated time: its accesses are free.
 *
 * @look sees all stores, including those that wait in a store buffer, and must not write to the
 * arena.
 */
void sim_observe(void (*look)(void *arg), void *arg);

/* ---- for reports ---- */

const struct stats *sim_stats(void);
uint64_t sim_events(void); /* accesses to the arena since sim_init() */
/* Number of lines of the arena that any body has touched since sim_measure_from_here(). */
uint32_t sim_lines_touched(void);

#endif
