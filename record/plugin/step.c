// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A CPU waits here while it is more than a quantum of instructions ahead of the model, which
 * advances only as far as the slowest CPU. The clocks are the model's. So a CPU that waits for a
 * line falls behind, and the others wait for that CPU. A CPU for which the model waits is never
 * held back here, because the model has processed all its instructions.
 *
 * A program's thread that has accessed no contended line for long may be further ahead. The limit
 * is a share of the time since it last accessed a contended line, up to many quanta. Before it
 * accesses a contended line again, it waits (step_meet()). If a locked instruction may access such
 * a line, the thread waits before the instruction (step_before()), so that it holds no lock
 * meanwhile.
 *
 * A CPU that waits sleeps until it is at most half a quantum ahead of the model. So the host's CPUs
 * are free for the CPUs that are behind.
 *
 * The model also sleeps when it has nothing to do. The CPU that it waits for wakes it after half a
 * quantum, or half of what that CPU may be ahead. So the model wakes up seldom while threads have
 * little to do with each other.
 *
 * The wait is bounded, because the emulator sometimes stops all vCPUs on behalf of one, and the
 * model may wait for that vCPU. If the model has not advanced in all of PATIENCE_NS, the CPU
 * continues, whatever the others do. The limit grows in proportion to the guest's CPUs, because the
 * CPU for which the model waits may not run for some time. The result says how often a CPU
 * continued, as a measure of trust in the quantum.
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

#define PATIENCE_NS 20000000L
/* A guest waits PATIENCE_NS per this many CPUs. */
#define PATIENCE_CPUS 16u
/* How long the model sleeps at most: the host may not let the CPU run that it waits for. */
#define REST_NS 2000000
/* The share of the instructions since its last meeting by which a CPU may be ahead. */
#define APART_PART 16u

void step_sleep(long ns)
{
	static _Thread_local bool exact;
	struct timespec time = { 0, ns };

	/* Linux adds 50 us to every sleep of a thread, unless the thread sets its timer slack. */
	if (!exact)
		exact = !prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	/* Not the C library's nanosleep(), which may use the emulator's slow clock. */
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

/* Is the CPU more than @by instructions ahead of the model? */
static bool is_ahead(uint32_t cpu, uint64_t by)
{
	const struct vcpu *v = &plugin.vcpu[cpu];

	return window_is_open() && __atomic_load_n(&v->instr, __ATOMIC_RELAXED) - v->base >
					   feed_done(plugin.feed, cpu) + by;
}

static uint64_t allowed(const struct vcpu *v)
{
	uint64_t ahead = __atomic_load_n(&v->ahead, __ATOMIC_RELAXED);

	return ahead > plugin.watch.quantum ? ahead : plugin.watch.quantum;
}

void step_meet(struct vcpu *v)
{
	v->told = v->instr;
	if (!v->ahead)
		return;
	__atomic_store_n(&v->ahead, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&v->check_at, 0, __ATOMIC_RELAXED);
}

/*
 * How long a CPU waits for a model that does not advance. When a program is recorded, the wait is
 * short for any number of CPUs, because each fork() and many mmap() stop all threads.
 */
static struct timespec patience_of(uint32_t nr_cpus)
{
	long ns = PATIENCE_NS;

	if (!plugin.apart)
		ns *= (nr_cpus + PATIENCE_CPUS - 1) / PATIENCE_CPUS;
	return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

/* Return: false if the model stood still meanwhile. */
static bool wait_for_model(struct vcpu *v, uint32_t self)
{
	const struct timespec patience = patience_of(plugin.nr_vcpus);
	uint64_t come_to = __atomic_load_n(feed_clock(plugin.feed), __ATOMIC_RELAXED);

	/*
	 * Before the read of the model's progress: pairs with the fence in step_progress(), which
	 * then sees the waiting CPU.
	 */
	__atomic_store_n(&v->waiting, 1, __ATOMIC_SEQ_CST);
	if (is_ahead(self, allowed(v)))
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
 * Have all others been idle for a while? A CPU that was just woken stays idle until the host runs
 * it. A CPU that went ahead meanwhile would not meet it.
 */
static bool is_alone(uint32_t self)
{
	return step_slowest(self) == ITEM_NO_CPU &&
	       host_now() - __atomic_load_n(&plugin.state->resting, __ATOMIC_RELAXED) > PATIENCE_NS;
}

/* Set how far ahead a CPU may be if it has met no other CPU since @told. */
static void go_apart(struct vcpu *v)
{
	uint64_t quantum = plugin.watch.quantum, most = quantum * plugin.apart;
	uint64_t since = v->told > v->base ? v->told : v->base;
	uint64_t ahead = (v->instr - since) / APART_PART;

	if (ahead > most)
		ahead = most;
	__atomic_store_n(&v->ahead, ahead > quantum ? ahead : 0, __ATOMIC_RELAXED);
}

static void rouse(void)
{
	struct plugin_state *s = plugin.state;

	if (__atomic_exchange_n(&s->rests, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &s->rests, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool rests_for(uint32_t cpu)
{
	const struct plugin_state *s = plugin.state;
	uint32_t behind;

	/*
	 * Pairs with the store in step_rest(): either the model sees what this CPU did, or this CPU
	 * wakes the model.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&s->rests, __ATOMIC_RELAXED))
		return false;
	behind = __atomic_load_n(&s->behind, __ATOMIC_RELAXED);
	return behind == cpu || behind == ITEM_NO_CPU;
}

void step_rouse(uint32_t cpu)
{
	if (rests_for(cpu))
		rouse();
}

/* Would a sleeping model have something to do? */
static bool can_go_on(uint32_t behind, uint64_t until)
{
	if (__atomic_load_n(&plugin.state->closed, __ATOMIC_RELAXED))
		return true;
	if (behind != ITEM_NO_CPU) {
		const struct vcpu *v = &plugin.vcpu[behind];

		return __atomic_load_n(&v->instr, __ATOMIC_RELAXED) - v->base >= until ||
		       !stream_empty(&v->stream) || __atomic_load_n(&v->idle, __ATOMIC_RELAXED);
	}
	for (uint32_t i = 0; i < plugin.nr_vcpus; i++)
		if (!stream_empty(&plugin.vcpu[i].stream))
			return true;
	return false;
}

void step_rest(uint32_t behind)
{
	const struct timespec most = { 0, REST_NS };
	struct plugin_state *s = plugin.state;
	uint64_t until = 0;

	if (behind != ITEM_NO_CPU)
		until = feed_done(plugin.feed, behind) + allowed(&plugin.vcpu[behind]) / 2;
	__atomic_store_n(&s->until, until, __ATOMIC_RELAXED);
	__atomic_store_n(&s->behind, behind, __ATOMIC_RELAXED);
	/* This store precedes the reads of can_go_on(): pairs with the fence in rests_for(). */
	__atomic_store_n(&s->rests, 1, __ATOMIC_SEQ_CST);
	if (!can_go_on(behind, until))
		syscall(SYS_futex, &s->rests, FUTEX_WAIT, 1, &most, NULL, 0);
	__atomic_store_n(&s->rests, 0, __ATOMIC_RELAXED);
}

static void keep_back(struct vcpu *v, uint32_t self)
{
	uint64_t since = host_now();

	step_rouse(self);

	v->waits++;
	while (is_ahead(self, allowed(v))) {
		if (!wait_for_model(v, self)) {
			v->timeouts++;
			break;
		}
	}
	v->waited_ns += host_now() - since;
}

void step_before(struct vcpu *v)
{
	uint32_t self = (uint32_t)(v - plugin.vcpu);

	if (!v->ahead || !plugin.feed || !is_ahead(self, plugin.watch.quantum))
		return;
	__atomic_store_n(&v->ahead, 0, __ATOMIC_RELAXED);
	keep_back(v, self);
}

void step_check(struct vcpu *v)
{
	uint32_t self = (uint32_t)(v - plugin.vcpu);
	uint64_t quantum = plugin.watch.quantum;

	/* Before the reads of what has changed: a writer sets this to 0 after its change. */
	__atomic_store_n(&v->check_at, UINT64_MAX, __ATOMIC_SEQ_CST);
	if (!v->follows && guest_clock_thread && plugin.watch.machine &&
	    __atomic_load_n(&plugin.state->soon, __ATOMIC_RELAXED)) {
		v->follows = true;
		follow_guest_clock();
	}
	if (!window_is_open() || !plugin.feed || !quantum)
		return;
	if (rests_for(self) &&
	    v->instr - v->base >= __atomic_load_n(&plugin.state->until, __ATOMIC_RELAXED))
		rouse();
	go_apart(v);
	__atomic_store_n(&v->check_at, v->instr + allowed(v) / 4 + 1, __ATOMIC_RELAXED);
	if (!is_ahead(self, allowed(v)))
		return;
	if (plugin.alone && !is_ahead(self, quantum * plugin.alone) && is_alone(self))
		return;
	keep_back(v, self);
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
	 * Pairs with the store in wait_for_model(): the model's progress is visible before this
	 * load.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&v->waiting, __ATOMIC_ACQUIRE) && !is_ahead(cpu, allowed(v) / 2))
		wake(v);
}

void step_end(void)
{
	rouse();
	for (uint32_t i = 0; i < plugin.nr_vcpus; i++)
		wake(&plugin.vcpu[i]);
}
