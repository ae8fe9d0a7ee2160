/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * vcpu.h - the plugin's state of each guest CPU.
 *
 * Mostly the vCPU's own thread writes this state, with plain stores to what no other thread uses.
 * Members that other threads use (marked "any") are atomic: each is useful alone, and may be old.
 */
#ifndef PLUGIN_VCPU_H
#define PLUGIN_VCPU_H

#include <stdbool.h>
#include <stdint.h>

#include "feed.h"
#include "stream.h"
#include "watch.h"

#define VCPU_DEPTH 16u

/* A counted function that is executing. */
struct vcpu_frame {
	uint32_t function;
	uint64_t entry;
	uint64_t instr, locked; /* at its entry */
};

struct vcpu_count {
	uint64_t calls, instr, locked;
};

/**
 * struct vcpu - one guest CPU
 * @instr: instructions executed, whole blocks; any
 * @locked: locked instructions among them
 * @check_at: instructions at which it calls step_check(); any
 * @idle: halted; any
 * @idle_told: the model knows that it is idle
 * @follows: its thread reads the guest's time
 * @waiting: it sleeps until the model has advanced; a futex; any
 * @base: instructions when the window opened; the model counts from there
 * @last: instructions of its last item, counted from @base
 * @told: instructions at its last access to a contended line
 * @ahead: how many instructions it may be ahead of the model; 0: a quantum; any
 */
struct vcpu {
	uint64_t instr __attribute__((aligned(128)));
	uint64_t locked, check_at, base, last, told, ahead;
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
 * struct plugin_state - state that all threads change, of every process
 * @soon: the window is open, or will be soon; any
 * @open: the window is open; any
 * @closed: the window was open, and no more items come; any
 * @news: see struct feed_source
 * @idled: picoseconds for which all CPUs have been idle; any
 * @operations: number of marks of operations
 * @resting: the host's time when a vCPU last halted or resumed; any
 * @rests: the model sleeps (step_rest()); a futex; any
 * @behind: the CPU that the model waits for; ITEM_NO_CPU: for one that resumes; any
 * @until: how many instructions that CPU must have executed to wake the model; any
 */
struct plugin_state {
	bool soon, open, closed;
	uint64_t news __attribute__((aligned(64)));
	uint64_t idled, operations, resting, until;
	uint32_t rests, behind;
};

/**
 * struct plugin - all state
 * @watch: what to do
 * @feed: the model; NULL when only functions are counted
 * @vcpu: by number
 * @nr_vcpus: how many
 * @alone: quanta that the only running vCPU may be ahead; 0: one
 * @apart: quanta that a vCPU may be ahead if it has met no other for long; 0: one
 * @state: the part that changes; processes of one recording share it
 */
struct plugin {
	struct watch watch;
	struct feed *feed;
	struct vcpu *vcpu;
	uint32_t nr_vcpus, alone, apart;
	struct plugin_state *state;
};

/* Hidden: otherwise each access loads its address from a table. */
extern struct plugin plugin __attribute__((visibility("hidden")));

static inline bool window_is_open(void)
{
	return __atomic_load_n(&plugin.state->open, __ATOMIC_RELAXED);
}

#endif
