// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Which thread runs on which CPU of the model.
 *
 * A thread gets the first free CPU, in the order of the watch file's 'cpu' lines, and keeps it
 * until it ends. Without a free one it shares that with the fewest threads. Threads of one CPU take
 * turns: whoever waits in the kernel gives it back, and whoever has had it for TURN instructions
 * gives it to one that waits.
 *
 * Nobody waits here for ever: the emulator stops all threads now and then on behalf of one (fork,
 * the end), and a thread that sleeps in the plugin would keep it from that. A thread that has
 * waited for PATIENCE_NS executes one block that is not seen, and comes back.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "access.h"
#include "user.h"

#define PATIENCE_NS 20000000
#define TURN	    2000000u

/**
 * struct cpu - one CPU of the model
 * @held: by a thread; 2: and others wait; a futex
 * @threads: whose own it is
 */
struct cpu {
	uint32_t held __attribute__((aligned(64)));
	uint32_t threads;
};

static struct cpu *cpus;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int cpus_init(void)
{
	cpus = aligned_alloc(64, plugin.nr_vcpus * sizeof(*cpus));
	if (!cpus)
		return -1;
	for (uint32_t i = 0; i < plugin.nr_vcpus; i++) {
		cpus[i] = (struct cpu){ 0 };
		plugin.vcpu[i].idle = true;
	}
	return 0;
}

static bool allowed(uint32_t cpu, const uint64_t *mask, uint32_t words)
{
	uint32_t number = plugin.watch.setup.cpu[cpu];

	return !mask || (number / 64 < words && mask[number / 64] >> (number % 64) & 1);
}

/* The CPU with the fewest threads. Under the lock. */
static uint32_t choose(const uint64_t *mask, uint32_t words)
{
	uint32_t best = USER_NO_CPU;

	for (uint32_t i = 0; i < plugin.nr_vcpus; i++) {
		if (allowed(i, mask, words) &&
		    (best == USER_NO_CPU || cpus[i].threads < cpus[best].threads))
			best = i;
	}
	return best;
}

static void own(struct user_thread *t, uint32_t cpu)
{
	if (t->cpu != USER_NO_CPU)
		cpus[t->cpu].threads--;
	__atomic_store_n(&t->cpu, cpu, __ATOMIC_RELAXED);
	cpus[cpu].threads++;
}

static void begin(struct user_thread *t)
{
	t->begun = true;
	t->tid = (pid_t)syscall(SYS_gettid);
	pthread_mutex_lock(&lock);
	t->number = user.begun++;
	if (t->cpu == USER_NO_CPU)
		own(t, choose(NULL, 0));
	pthread_mutex_unlock(&lock);
	calls_thread(t);
}

static bool take(struct cpu *c)
{
	const struct timespec patience = { 0, PATIENCE_NS };
	uint32_t seen = 0;

	if (__atomic_compare_exchange_n(&c->held, &seen, 1, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return true;
	while (__atomic_exchange_n(&c->held, 2, __ATOMIC_ACQUIRE)) {
		if (syscall(SYS_futex, &c->held, FUTEX_WAIT_PRIVATE, 2, &patience, NULL, 0) &&
		    errno == ETIMEDOUT)
			return false;
	}
	return true;
}

bool cpus_enter(struct user_thread *t)
{
	uint32_t cpu;

	if (!t->begun)
		begin(t);
	t->waits = false;
	cpu = __atomic_load_n(&t->cpu, __ATOMIC_RELAXED);
	__atomic_store_n(&t->moved, false, __ATOMIC_RELAXED);
	if (!take(&cpus[cpu])) {
		__atomic_fetch_add(&user.unseen, 1, __ATOMIC_RELAXED);
		return false;
	}
	t->v = &plugin.vcpu[cpu];
	t->turn = t->v->instr + TURN;
	access_resume(cpu);
	return true;
}

void cpus_leave(struct user_thread *t)
{
	uint32_t cpu;

	if (!t->v)
		return;
	cpu = (uint32_t)(t->v - plugin.vcpu);
	t->v = NULL;
	access_idle(cpu);
	if (__atomic_exchange_n(&cpus[cpu].held, 0, __ATOMIC_RELEASE) == 2)
		syscall(SYS_futex, &cpus[cpu].held, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void cpus_take_turns(struct user_thread *t)
{
	uint32_t cpu = (uint32_t)(t->v - plugin.vcpu);
	bool moved = __atomic_load_n(&t->moved, __ATOMIC_RELAXED);

	t->turn = t->v->instr + TURN;
	if (!moved && __atomic_load_n(&cpus[cpu].held, __ATOMIC_RELAXED) != 2)
		return;
	cpus_leave(t);
	/* Who was woken has it before this thread asks again. */
	if (!moved)
		sched_yield();
	cpus_enter(t);
}

void cpus_forget(struct user_thread *t)
{
	pthread_mutex_lock(&lock);
	if (t->cpu != USER_NO_CPU)
		cpus[t->cpu].threads--;
	*t = (struct user_thread){ .cpu = USER_NO_CPU };
	pthread_mutex_unlock(&lock);
}

void cpus_bind(struct user_thread *t, const uint64_t *mask, uint32_t words)
{
	uint32_t cpu;

	pthread_mutex_lock(&lock);
	if (t->cpu == USER_NO_CPU || !allowed(t->cpu, mask, words)) {
		cpu = choose(mask, words);
		if (cpu != USER_NO_CPU) {
			own(t, cpu);
			__atomic_store_n(&t->moved, true, __ATOMIC_RELAXED);
		}
	}
	pthread_mutex_unlock(&lock);
}
