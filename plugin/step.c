// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The model goes no further than the CPU that is furthest behind has come; a CPU that is more than
 * a quantum of instructions ahead of what the model knows of it is therefore that much ahead of the
 * slowest one. Clocks are the model's, so that a CPU that waits for a line falls behind and others
 * wait for it. Whom the model is waiting for is never held back here: the model knows all of it.
 *
 * A CPU that is ahead sleeps until the model has come to within half a quantum of it, so that the
 * host's CPUs are left to those that are behind.
 *
 * Why it cannot stop the machine: the wait is bounded. Where the model has come no further in all
 * of PATIENCE_NS, the CPU goes on whatever has become of the others. It must: the emulator stops
 * all vCPUs now and then on behalf of one, and the one that is waited for may be that one. How
 * often that happened is told, since it is how far the quantum may be trusted.
 */
#include "step.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "guest_clock.h"
#include "host_time.h"

#define PATIENCE_NS 20000000

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

/* Is it more than so many instructions ahead of what the model knows of it? */
static bool is_ahead(uint32_t cpu, uint64_t by)
{
	const struct vcpu *v = &plugin.vcpu[cpu];

	return window_is_open() && __atomic_load_n(&v->instr, __ATOMIC_RELAXED) - v->base >
					   feed_done(plugin.feed, cpu) + by;
}

/* Return: false when the model stood still meanwhile. */
static bool wait_for_model(struct vcpu *v, uint32_t self)
{
	const struct timespec patience = { 0, PATIENCE_NS };
	uint64_t come_to = __atomic_load_n(feed_clock(plugin.feed), __ATOMIC_RELAXED);

	/*
	 * Before the look at what the model has done: who has done enough finds that it is waited
	 * for.
	 */
	__atomic_store_n(&v->waiting, 1, __ATOMIC_SEQ_CST);
	if (is_ahead(self, plugin.watch.quantum))
		syscall(SYS_futex, &v->waiting, FUTEX_WAIT, 1, &patience, NULL, 0);
	return !__atomic_exchange_n(&v->waiting, 0, __ATOMIC_RELAXED) ||
	       come_to != __atomic_load_n(feed_clock(plugin.feed), __ATOMIC_RELAXED);
}

static void follow_guest_clock(void)
{
	if (!guest_clock_thread())
		return;
	fprintf(stderr, "schedshard: the guest's clock cannot be taken over (PR_SET_TSC): %s\n",
		strerror(errno));
	exit(1);
}

/*
 * All others have been idle for a while. Those that have just been woken are idle until the host
 * lets them run: who went ahead meanwhile would not meet them.
 */
static bool is_alone(uint32_t self)
{
	return step_slowest(self) == ITEM_NO_CPU &&
	       host_now() - __atomic_load_n(&plugin.state->resting, __ATOMIC_RELAXED) > PATIENCE_NS;
}

void step_check(struct vcpu *v)
{
	uint32_t self = (uint32_t)(v - plugin.vcpu);
	uint64_t quantum = plugin.watch.quantum, since;

	/* Before the looks at what has come: who changes that sets this to 0 afterwards. */
	__atomic_store_n(&v->check_at, UINT64_MAX, __ATOMIC_SEQ_CST);
	if (!v->follows && guest_clock_thread && plugin.watch.machine &&
	    __atomic_load_n(&plugin.state->soon, __ATOMIC_RELAXED)) {
		v->follows = true;
		follow_guest_clock();
	}
	if (!window_is_open() || !plugin.feed || !quantum)
		return;
	__atomic_store_n(&v->check_at, v->instr + quantum / 4 + 1, __ATOMIC_RELAXED);
	if (!is_ahead(self, quantum))
		return;
	if (plugin.alone && !is_ahead(self, quantum * plugin.alone) && is_alone(self))
		return;
	v->waits++;
	since = host_now();
	while (is_ahead(self, quantum)) {
		if (!wait_for_model(v, self)) {
			v->timeouts++;
			break;
		}
	}
	v->waited_ns += host_now() - since;
}

static void wake(struct vcpu *v)
{
	__atomic_store_n(&v->waiting, 0, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &v->waiting, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void step_progress(uint32_t cpu)
{
	struct vcpu *v = &plugin.vcpu[cpu];

	/*
	 * Pairs with the store in wait_for_model(): what the model has done stands before this
	 * load.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&v->waiting, __ATOMIC_RELAXED) &&
	    !is_ahead(cpu, plugin.watch.quantum / 2))
		wake(v);
}

void step_end(void)
{
	for (uint32_t i = 0; i < plugin.nr_vcpus; i++)
		wake(&plugin.vcpu[i]);
}
