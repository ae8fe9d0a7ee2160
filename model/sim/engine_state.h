/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * engine_state.h - the state of the timing backend, private to its files: the simulated CPUs and
 * the machine around them. engine.c says which file does what.
 */
#ifndef SIM_ENGINE_STATE_H
#define SIM_ENGINE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "coherence.h"
#include "fiber.h"
#include "model.h"
#include "stats.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define noinline    __attribute__((noinline))

/*
 * What a CPU waits for at its store buffer: an empty buffer, for a locked operation (WAIT_EMPTY) or
 * otherwise (WAIT_FENCED), or a free entry (WAIT_SLOT). The first wait is part of the operation's
 * time. The others count as time of the stores. See waits_by_store in model.h.
 */
enum wait { WAIT_NOTHING, WAIT_EMPTY, WAIT_FENCED, WAIT_SLOT };

/* What a fetch does when its CPU resumes; see fetch_step(). */
enum fetch_state { FETCH_NONE, FETCH_BEGIN, FETCH_CAUGHT_UP, FETCH_SENT };

/* One store in a store buffer. */
struct store {
	uint64_t addr;
	const void *pc;
	uint32_t size;
	bool delayed;	 /* @value is not in memory yet */
	uint32_t merged; /* stores before it in the same entry */
	uint64_t value;
};

/* The fields that accesses and switches read come first, in one cache line of the host. */
#define AFTER_LOCKED UINT64_MAX

struct cpu {
	_Alignas(64) uint64_t clock;
	uint32_t number, core;
	uint32_t sb_head, sb_n;
	struct {
		uint64_t op;
		uint32_t line;
		uint8_t state; /* enum fetch_state */
		uint8_t source;
		bool write, far;
	} fetch;
	struct fiber *fiber;
	uint8_t wait; /* enum wait */
	bool computing, returned;
	uint64_t waits;	   /* since when the CPU waits for its oldest store */
	uint64_t timer_at; /* when computing ends; a timer event with another time is stale */
	uint64_t irq_at;   /* when the pending interrupt comes, or NEVER */
	struct store *sb;
	uint32_t sb_used;      /* entries; fewer than stores where some merge */
	uint64_t stored;       /* the word stored last, as address / 8; or AFTER_LOCKED */
	uint64_t forwarded_at; /* when a load of @stored last took no time */
	uint32_t forwarded;    /* number of such loads at that time */
	uint64_t random;
	void (*body)(uint32_t cpu, void *arg);
	void *arg;
};

struct sim {
	const struct model *model;
	struct coherence coherence;
	struct stats stats;
	struct cpu *cpu;
	struct fiber *fibers;
	struct fiber main;
	struct cpu *running; /* NULL outside sim_run(), where accesses are free */
	uint32_t bodies;
	uint64_t events, finished_at;
	struct {
		/* In accesses: when to look, how long to wait, when it was looked last. */
		uint64_t deadline, patience, looked;
		uint64_t until; /* the latest time at which a CPU acts, found at the first look */
		bool over;	/* that time is over */
	} watch;
	uint64_t relax;	       /* picoseconds of a cpu_relax() */
	uint32_t delayed;      /* entries of all store buffers whose value is not in memory */
	uint64_t *const *real; /* see sim_threads.h; NULL: the arena contains the values */
	void (*alarm)(uint32_t id, uint64_t at);
	bool (*stuck)(void);
};

/* Hidden: in a shared library, each access would otherwise load this address from the GOT. */
extern struct sim sim __attribute__((visibility("hidden")));

/* The memory that contains the value of this byte of the arena. */
static inline volatile void *sim_memory(const volatile void *addr)
{
	uint64_t at = (uint64_t)(uintptr_t)addr;

	if (unlikely(sim.real != NULL))
		at = (*sim.real)[arena_line(addr)] + at % LINE_SIZE;
	return (volatile void *)(uintptr_t)at;
}

#endif
