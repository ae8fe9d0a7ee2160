// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The model goes no further than the CPU that is furthest behind has come; a CPU that is more than a quantum of
 * instructions ahead of what the model knows of it is therefore that much ahead of the slowest
 * one. Clocks are the model's, so that a CPU that waits for a line falls behind and others wait for it.
 * Whom the model is waiting for is never held back here: the model knows all of it.
 *
 * Why it cannot stop the machine: the wait is bounded, a few yields and then WAITS sleeps of
 * WAIT_NS, and then the CPU goes on whatever has become of the others. It must: the emulator
 * stops all vCPUs now and then on behalf of one, and the one that is waited for may be that one.
 * How often that happened is told, since it is how far the quantum may be trusted.
 */
#include "step.h"

#include <sched.h>
#include <time.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define YIELDS	4
#define WAITS	20
#define WAIT_NS 20000

void step_sleep(long ns)
{
	static _Thread_local bool exact;
	struct timespec time = { 0, ns };

	/* Linux adds 50 us to every sleep of a thread that does not object. */
	if (!exact)
		exact = !prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	/* Not nanosleep(): the clock that the emulator is given may be a slow one. */
	syscall(SYS_nanosleep, &time, NULL);
}

static uint64_t clock_of(const struct vcpu *v, uint32_t cpu)
{
	uint64_t instr = __atomic_load_n(&v->instr, __ATOMIC_RELAXED) - v->base;

	return feed_offset(plugin.feed, cpu) + instr * feed_instruction(plugin.feed);
}

uint32_t step_slowest(uint32_t except)
{
	uint32_t found = ITEM_NO_CPU;
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < plugin.nr_vcpus; i++) {
		const struct vcpu *v = &plugin.vcpu[i];
		uint64_t clock = clock_of(v, i);

		if (i == except || __atomic_load_n(&v->idle, __ATOMIC_RELAXED) || clock >= least)
			continue;
		least = clock;
		found = i;
	}
	return found;
}

static bool is_ahead(const struct vcpu *v, uint32_t self)
{
	return window_is_open() &&
	       v->instr - v->base > feed_done(plugin.feed, self) + plugin.watch.quantum;
}

uint64_t step_now(void)
{
	struct timespec time;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
}

void step_check(struct vcpu *v)
{
	uint32_t self = (uint32_t)(v - plugin.vcpu);
	uint64_t quantum = plugin.watch.quantum, since;
	int i;

	if (!plugin.feed || !quantum || !window_is_open()) {
		__atomic_store_n(&v->check_at, UINT64_MAX, __ATOMIC_RELAXED);
		return;
	}
	__atomic_store_n(&v->check_at, v->instr + quantum / 4 + 1, __ATOMIC_RELAXED);
	if (!is_ahead(v, self))
		return;
	v->waits++;
	since = step_now();
	for (i = 0; i < YIELDS + WAITS; i++) {
		if (i < YIELDS)
			sched_yield();
		else
			step_sleep(WAIT_NS);
		if (!is_ahead(v, self))
			break;
	}
	v->timeouts += i == YIELDS + WAITS;
	v->waited_ns += step_now() - since;
}
