// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Decides which thread runs on which CPU of the model.
 *
 * A thread gets the CPU with the fewest threads; of several, the first in the order of the watch
 * file's 'cpu' lines. The thread keeps its CPU until it ends or is bound to others. Threads of one
 * CPU take turns, also those of different processes. A thread releases the CPU when it waits in the
 * kernel or, after TURN instructions, when another one waits for the CPU.
 *
 * The word that takes a CPU names its holder. So a killed process leaves no CPU without an owner:
 * the model's process releases what a dead one held (bury() in model.c).
 *
 * No thread waits here for ever. Sometimes the emulator stops all threads on behalf of one (fork,
 * the end), and a thread that sleeps in the plugin would block that. A thread that has waited for
 * PATIENCE_NS executes one block that the model does not see, and comes back.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "access.h"
#include "shared.h"
#include "user.h"

#define PATIENCE_NS 20000000
#define TURN	    2000000u

#define WAITED 1u /* of struct shared_cpu.held */

static bool allowed(uint32_t cpu, const uint64_t *mask, uint32_t words)
{
	uint32_t number = plugin.watch.setup.cpu[cpu];

	return !mask || (number / 64 < words && mask[number / 64] >> (number % 64) & 1);
}

/* Return the CPU with the fewest threads. The caller holds the lock. */
static uint32_t choose(const uint64_t *mask, uint32_t words)
{
	uint32_t best = USER_NO_CPU;

	for (uint32_t i = 0; i < plugin.nr_vcpus; i++) {
		if (allowed(i, mask, words) &&
		    (best == USER_NO_CPU || shared->cpu[i].threads < shared->cpu[best].threads))
			best = i;
	}
	return best;
}

/* The caller holds the lock. */
static void disown(struct user_thread *t)
{
	if (t->cpu == USER_NO_CPU)
		return;
	shared->cpu[t->cpu].threads--;
	--*shared_owned(user.image, t->cpu);
}

static void own(struct user_thread *t, uint32_t cpu)
{
	disown(t);
	__atomic_store_n(&t->cpu, cpu, __ATOMIC_RELAXED);
	shared->cpu[cpu].threads++;
	++*shared_owned(user.image, cpu);
}

static void begin(struct user_thread *t)
{
	t->begun = true;
	t->tid = (pid_t)syscall(SYS_gettid);
	shared_lock();
	if (user.arrived.cpu != USER_NO_CPU) {
		/* The calling thread started this program by exec(). */
		t->number = user.arrived.number;
		t->cpu = user.arrived.cpu;
		++*shared_owned(user.image, t->cpu);
		user.arrived.cpu = USER_NO_CPU;
	} else {
		t->number = shared->threads++;
	}
	if (t->cpu == USER_NO_CPU)
		own(t, choose(NULL, 0));
	shared_unlock();
	notes_thread(t);
}

static bool take(struct shared_cpu *c)
{
	const struct timespec patience = { 0, PATIENCE_NS };
	uint32_t seen = 0, mine = (user.image + 1) << 1;

	for (;;) {
		if (!seen && __atomic_compare_exchange_n(&c->held, &seen, mine, false,
							 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
		if (!seen)
			continue;
		/* Others may wait as well: a thread that has waited sets the bit for them. */
		mine |= WAITED;
		if (!(seen & WAITED) &&
		    !__atomic_compare_exchange_n(&c->held, &seen, seen | WAITED, false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		if (syscall(SYS_futex, &c->held, FUTEX_WAIT, seen | WAITED, &patience, NULL, 0) &&
		    errno == ETIMEDOUT)
			return false;
		seen = __atomic_load_n(&c->held, __ATOMIC_RELAXED);
	}
}

static void give_back(struct shared_cpu *c)
{
	if (__atomic_exchange_n(&c->held, 0, __ATOMIC_RELEASE) & WAITED)
		syscall(SYS_futex, &c->held, FUTEX_WAKE, 1, NULL, NULL, 0);
}

bool cpus_enter(struct user_thread *t)
{
	bool begins = !t->begun;
	uint32_t cpu;

	if (begins)
		begin(t);
	t->waits = false;
	cpu = __atomic_load_n(&t->cpu, __ATOMIC_RELAXED);
	__atomic_store_n(&t->moved, false, __ATOMIC_RELAXED);
	if (!take(&shared->cpu[cpu])) {
		__atomic_fetch_add(&shared->unseen, 1, __ATOMIC_RELAXED);
		return false;
	}
	t->v = &plugin.vcpu[cpu];
	t->held = cpu;
	t->seen = t->hidden ? NULL : t->v;
	t->turn = t->v->instr + TURN;
	/* Not the slowest CPU's time: in a replay with moved bytes, that may be another CPU. */
	if (begins)
		access_resume_after(cpu, __atomic_load_n(&user.creator.cpu, __ATOMIC_RELAXED),
				    __atomic_load_n(&user.creator.instr, __ATOMIC_RELAXED));
	else
		access_resume(cpu);
	return true;
}

void cpus_leave(struct user_thread *t)
{
	uint32_t cpu;

	if (!t->v)
		return;
	cpu = (uint32_t)(t->v - plugin.vcpu);
	t->v = t->seen = NULL;
	access_idle(cpu);
	give_back(&shared->cpu[cpu]);
}

void cpus_take_turns(struct user_thread *t)
{
	uint32_t cpu = (uint32_t)(t->v - plugin.vcpu);
	bool moved = __atomic_load_n(&t->moved, __ATOMIC_RELAXED);

	t->turn = t->v->instr + TURN;
	if (!moved && !(__atomic_load_n(&shared->cpu[cpu].held, __ATOMIC_RELAXED) & WAITED))
		return;
	cpus_leave(t);
	/* Let the woken thread take the CPU before this one tries again. */
	if (!moved)
		sched_yield();
	cpus_enter(t);
}

void cpus_forget(struct user_thread *t)
{
	shared_lock();
	disown(t);
	free(t->asked);
	*t = (struct user_thread){ .cpu = USER_NO_CPU };
	shared_unlock();
}

void cpus_carry(const struct user_thread *t, bool over)
{
	shared_lock();
	if (over)
		--*shared_owned(user.image, t->cpu);
	else
		++*shared_owned(user.image, t->cpu);
	shared_unlock();
}

void cpus_fork(void)
{
	for (uint32_t i = 0; i < USER_THREADS; i++) {
		bool hidden = user.thread[i].hidden;

		user.thread[i] = (struct user_thread){ .cpu = USER_NO_CPU, .hidden = hidden };
	}
}

void cpus_bind(struct user_thread *t, const uint64_t *mask, uint32_t words)
{
	uint32_t cpu;

	shared_lock();
	if (t->cpu == USER_NO_CPU || !allowed(t->cpu, mask, words)) {
		cpu = choose(mask, words);
		if (cpu != USER_NO_CPU) {
			own(t, cpu);
			__atomic_store_n(&t->moved, true, __ATOMIC_RELAXED);
		}
	}
	shared_unlock();
}
