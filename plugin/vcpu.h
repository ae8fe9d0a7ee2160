/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * vcpu.h - what the plugin knows of each guest CPU.
 *
 * Written by the vCPU's own thread, with plain stores where only it reads; what other threads read
 * (marked "any") is loaded and stored relaxed: each value is of use by itself, and a little old is
 * good enough.
 */
#ifndef PLUGIN_VCPU_H
#define PLUGIN_VCPU_H

#include <stdbool.h>
#include <stdint.h>

#include "feed.h"
#include "stream.h"
#include "watch.h"

#define VCPU_DEPTH 16u

/* A counted function that is being executed. */
struct vcpu_frame {
	uint32_t function;
	uint64_t entry;
	uint64_t instr, locked; /* when it was entered */
};

struct vcpu_count {
	uint64_t calls, instr, locked;
	uint64_t least, most; /* instructions of one call; functions that are not inlined */
	uint64_t lost;	      /* calls whose end was not seen */
	uint64_t locking_calls, locking_instr; /* calls with a locked instruction; not inlined */
};

/**
 * struct vcpu - one guest CPU
 * @instr: instructions executed, whole blocks; any
 * @locked: locked instructions among them
 * @check_at: instructions at which step_check() is called; any
 * @idle: halted; any
 * @idle_told: the model knows that it is
 * @follows: its thread reads the guest's time
 * @waiting: it sleeps until the model has come further; a futex; any
 * @base: instructions when the window opened; the model counts from there
 */
struct vcpu {
	uint64_t instr __attribute__((aligned(128)));
	uint64_t locked, check_at, base;
	bool idle, idle_told, follows;
	uint32_t waiting;
	uint64_t private_accesses, device_accesses, reported;
	uint64_t waits, timeouts, waited_ns;
	struct vcpu_frame frame[VCPU_DEPTH];
	uint32_t depth;
	struct vcpu_count count[WATCH_FUNCTIONS];
	struct stream stream;
};

/**
 * struct plugin_state - what all threads change, of whichever process
 * @soon: the window is open, or will be soon; any
 * @open: the window is; any
 * @closed: it was, and nothing comes any more; any
 * @news: see struct feed_source
 * @idled: picoseconds for which all CPUs have been idle; any
 * @operations: marks of operations that were seen
 * @resting: host's time at which a vCPU halted or went on last; any
 */
struct plugin_state {
	bool soon, open, closed;
	uint64_t news, idled, operations, resting;
};

/**
 * struct plugin - all there is
 * @watch: what to do
 * @feed: the model; NULL when only functions are counted
 * @vcpu: by number
 * @nr_vcpus: how many
 * @alone: a vCPU that alone runs may be so many quanta ahead; 0: one
 * @state: what changes; processes that are recorded together share it
 */
struct plugin {
	struct watch watch;
	struct feed *feed;
	struct vcpu *vcpu;
	uint32_t nr_vcpus, alone;
	struct plugin_state *state;
};

extern struct plugin plugin;

static inline bool window_is_open(void)
{
	return __atomic_load_n(&plugin.state->open, __ATOMIC_RELAXED);
}

#endif
