// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Each thread of the program has a real thread: the C library makes and frees its stack, its
 * thread-local memory and its identity. But the real thread parks on a small separate stack.
 * Meanwhile the one thread that simulates executes the program's code on the real thread's stack,
 * with its thread-local memory. At the end the real thread gets its stack back and returns.
 *
 * Why that is right: at any time only one host thread uses a given stack. The real thread leaves it
 * before it reports that it is parked, and returns to it after the simulation has left it for good.
 * While parked, it calls nothing that uses thread-local memory, because the simulation uses that.
 */
#include <errno.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cancel.h"
#include "ends.h"
#include "pass.h"
#include "exact.h"
#include "keys.h"
#include "lines.h"
#include "masks.h"
#include "preload.h"
#include "rseq.h"
#include "spin.h"
#include "stacks.h"
#include "sync.h"
#include "ways.h"

#define PARKING_STACK 16384u
#define LOOK_AGAIN    20000000ull /* ps */
#define LOCAL	      4096u
#define ROOM	      (128u << 10) /* bytes of a thread's stack that the model needs */

enum { STARTING, PARKED, ENDING };

struct exact exact;

/* A system call that leaves errno alone. */
static long plain_futex(int *word, int what, int value)
{
	long result;
	register const void *none __asm__("r10") = NULL;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"((long)SYS_futex), "D"(word), "S"((long)what), "d"((long)value),
			   "r"(none)
			 : "rcx", "r11", "memory");
	return result;
}

static void become(struct thread *t, int state)
{
	__atomic_store_n(&t->parked, state, __ATOMIC_RELEASE);
	plain_futex(&t->parked, FUTEX_WAKE_PRIVATE, INT32_MAX);
}

static void wait_while(struct thread *t, int state)
{
	while (__atomic_load_n(&t->parked, __ATOMIC_ACQUIRE) == state)
		plain_futex(&t->parked, FUTEX_WAIT_PRIVATE, state);
}

/* Runs in the real thread, on its small stack. */
static void park(void *arg)
{
	struct thread *t = arg;

	become(t, PARKED);
	wait_while(t, PARKED);
}

static void finish(struct thread *t)
{
	keys_end(t);
	mutex_end(t);
	sched_cycles(EXACT_CALL);
	sched_catch_up();
	t->ended = true;
	exact.live--;
	masks_gone(t);
	spin_else();
	if (t->joiner)
		sched_wake(t->joiner, sched_time());
	if (!exact.live)
		sched_wake(exact.threads[0], sched_time());
}

_Noreturn void threads_first_ends(void)
{
	struct thread *t = exact_self;

	keys_end(t);
	mutex_end(t);
	t->ended = true;
	exact.live--;
	masks_gone(t);
	t->waits_in = "pthread_exit";
	while (exact.live)
		sched_block();
	exit(0);
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	jmp_buf end;
	sigset_t all;

	sigfillset(&all);
	REAL(pthread_sigmask)(SIG_SETMASK, &all, NULL);
	t->tid = (pid_t)syscall(SYS_gettid);
	rseq_leave();
	exact_self = t;
	t->fiber.local = exact_local();
	t->parking.stack_top = (char *)t->parking_stack + PARKING_STACK;
	t->parking.stack_size = PARKING_STACK;
	fiber_start(&t->parking, park, t, &t->fiber);
	fiber_switch(&t->fiber, &t->parking);
	/* From here on the thread that simulates runs this function. */
	lines_thread(t->cpu);
	rseq_thread();
	ways_thread(t);
	sched_settle();
	/* Another thread may have had this stack, and its local memory above. */
	t->top = __builtin_frame_address(0);
	t->end = &end;
	if (!_setjmp(end))
		t->result = t->start(t->arg);
	t->end = NULL;
	finish(t);
	lines_mine = 0;
	sched_leave();
	/* From here on the real thread runs it again. */
	exact_self = NULL;
	return NULL;
}

/* End the real thread of a thread that has ended, and free its stacks. */
static void reap(struct thread *t)
{
	if (t->reaped || !t->ended)
		return;
	t->reaped = true;
	PASS((become(t, ENDING), 0));
	PASS(REAL(pthread_join)(t->real, NULL));
	stacks_gone(t);
	free(t->parking_stack);
	free(t->key);
	t->key = NULL;
	free(t->spin.seen);
	t->spin.seen = NULL;
}

/* Reap the detached threads that have ended. */
static void reap_detached(void)
{
	for (uint32_t i = 1; i < exact.nr_threads; i++)
		if (exact.threads[i]->detached)
			reap(exact.threads[i]);
}

static struct thread *new_thread(void)
{
	struct thread *t;

	if (exact.nr_threads == EXACT_THREADS)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->number = exact.nr_threads;
	t->until = EXACT_EVER;
	exact.threads[exact.nr_threads++] = t;
	exact.live++;
	return t;
}

int threads_begin(void)
{
	struct thread *t = new_thread();

	if (!t)
		return -1;
	t->fiber.local = exact_local();
	t->tid = (pid_t)syscall(SYS_gettid);
	t->real = pthread_self();
	t->top = environ;
	exact_self = t;
	sched_start(t);
	return 0;
}

/* Get the stack that the program made for the thread. Return: does it have room for the model? */
static bool has_stack(const pthread_attr_t *asked, void **stack, size_t *size)
{
	return !pthread_attr_getstack(asked, stack, size) && (uintptr_t)*stack + *size &&
	       *size >= 2 * ROOM;
}

/*
 * Make the attributes of the real thread: the program's stack, or one with room for the model. A
 * detached thread never gets the program's stack, because its real thread may live on when the
 * program reuses the memory.
 */
static int make_attributes(pthread_attr_t *own, const pthread_attr_t *asked, bool *detached,
			   uint64_t *whole)
{
	int state = PTHREAD_CREATE_JOINABLE;
	size_t size = 0, guard = 0;
	void *stack;

	if (pthread_attr_init(own))
		return EAGAIN;
	pthread_attr_getstacksize(asked ? asked : own, &size);
	if (asked) {
		pthread_attr_getdetachstate(asked, &state);
		pthread_attr_getguardsize(asked, &guard);
		pthread_attr_setguardsize(own, guard);
	}
	*detached = state == PTHREAD_CREATE_DETACHED;
	if (asked && !*detached && has_stack(asked, &stack, &size)) {
		*whole = size;
		return pthread_attr_setstack(own, stack, size);
	}
	*whole = size + ROOM;
	return pthread_attr_setstacksize(own, *whole);
}

/*
 * Set the CPUs and signal mask of a new thread: its creator's, unless the program asks for others.
 */
static int inherit(struct thread *t, const pthread_attr_t *asked)
{
	uint64_t cpus[THREAD_MASK], given = UINT64_MAX;
	sigset_t signals;
	bool has;

	has = asked && !pthread_attr_getsigmask_np(asked, &signals);
	masks_thread(t, has ? &signals : NULL);
	memcpy(t->allowed, exact_self->allowed, sizeof(t->allowed));
	t->allowed_words = exact_self->allowed_words;
	if (!asked)
		return 0;
	if (pthread_attr_getaffinity_np(asked, sizeof(cpus), (cpu_set_t *)(void *)cpus))
		return EINVAL;
	for (uint32_t i = 0; i < THREAD_MASK; i++)
		given &= cpus[i];
	/* All bits are set, more than any machine has CPUs: the program gave no mask. */
	return given == UINT64_MAX ? 0 : sched_bind(t, cpus, THREAD_MASK);
}

static int start_real(struct thread *t, const pthread_attr_t *asked)
{
	sigset_t all, before;
	pthread_attr_t own;
	int failed;

	failed = make_attributes(&own, asked, &t->detached, &t->stack_size);
	if (failed)
		return failed;
	t->parking_stack = aligned_alloc(64, PARKING_STACK);
	if (!t->parking_stack)
		return EAGAIN;
	sigfillset(&all);
	PASS(REAL(pthread_sigmask)(SIG_SETMASK, &all, &before));
	failed = PASS(REAL(pthread_create)(&t->real, &own, thread_main, t));
	PASS(REAL(pthread_sigmask)(SIG_SETMASK, &before, NULL));
	pthread_attr_destroy(&own);
	if (!failed)
		PASS((wait_while(t, STARTING), 0));
	return failed;
}

API int pthread_create(pthread_t *made, const pthread_attr_t *attr, void *(*start)(void *),
		       void *arg)
{
	struct thread *t;
	int failed;

	if (!exact_on())
		return PASS(REAL(pthread_create)(made, attr, start, arg));
	preload_callers(PRELOAD_HERE);
	sched_cycles(10 * EXACT_CALL);
	if (exact.nr_threads == 1) {
		sched_second();
		lines_second();
	}
	reap_detached();
	sched_catch_up();
	t = new_thread();
	if (!t)
		return EAGAIN;
	spin_else();
	t->start = start;
	t->arg = arg;
	failed = inherit(t, attr);
	if (!failed)
		failed = start_real(t, attr);
	if (failed) {
		exact.nr_threads--;
		exact.live--;
		free(t->parking_stack);
		free(t);
		return failed;
	}
	*made = t->real;
	lines_plain(made, sizeof(*made), true, __builtin_return_address(0));
	sched_place(t);
	sched_wake(t, sched_time());
	return 0;
}

struct thread *threads_find(pthread_t real)
{
	for (uint32_t i = exact.nr_threads; i--;)
		if (exact.threads[i]->real == real && !exact.threads[i]->reaped)
			return exact.threads[i];
	return NULL;
}

/* Wait for a thread's end with a time limit: the caller polls. */
static void await(const struct thread *t, uint64_t until)
{
	while (!t->ended && sched_time() < until) {
		uint64_t next = sched_time() + LOOK_AGAIN;

		futex_sleep(next < until ? next : until, "pthread_timedjoin_np");
	}
}

static int join(pthread_t real, void **result, uint64_t until, bool wait, const void *pc)
{
	struct thread *t = threads_find(real);

	sched_cycles(EXACT_CALL);
	sched_catch_up();
	if (!t || t->detached)
		return t ? EINVAL : ESRCH;
	if (t == exact_self)
		return EDEADLK;
	if (t->joiner)
		return EINVAL;
	if (!t->ended && !wait)
		return EBUSY;
	if (until < EXACT_EVER) {
		await(t, until);
		if (!t->ended)
			return ETIMEDOUT;
		if (t->reaped)
			return ESRCH;
	}
	cancel_test();
	/* The caller may be moved while it waits, so its stores become visible first. */
	lines_fence(__ATOMIC_SEQ_CST, pc);
	exact_self->waits_pc = pc;
	t->joiner = exact_self;
	while (!t->ended) {
		t->joiner = exact_self;
		exact_self->waits_in = "pthread_join";
		CANCEL_POINT((sched_block(), 0));
		exact_self->waits_in = NULL;
		exact_signals();
		cancel_test();
	}
	cancel_test();
	if (result)
		*result = t->result;
	reap(t);
	return 0;
}

API int pthread_join(pthread_t real, void **result)
{
	if (!exact_on())
		return REAL(pthread_join)(real, result);
	preload_callers(PRELOAD_HERE);
	return join(real, result, EXACT_EVER, true, __builtin_return_address(0));
}

API int pthread_tryjoin_np(pthread_t real, void **result)
{
	if (!exact_on())
		return REAL(pthread_tryjoin_np)(real, result);
	return join(real, result, EXACT_EVER, false, __builtin_return_address(0));
}

API int pthread_clockjoin_np(pthread_t real, void **result, clockid_t clock,
			     const struct timespec *until)
{
	if (!exact_on())
		return REAL(pthread_clockjoin_np)(real, result, clock, until);
	return join(real, result, clock_until(clock, until), true, HERE);
}

API int pthread_timedjoin_np(pthread_t real, void **result, const struct timespec *until)
{
	if (!exact_on())
		return REAL(pthread_timedjoin_np)(real, result, until);
	return join(real, result, clock_until(CLOCK_REALTIME, until), true, HERE);
}

API int pthread_detach(pthread_t real)
{
	struct thread *t;

	if (!exact_on())
		return REAL(pthread_detach)(real);
	t = threads_find(real);
	if (!t || t->detached)
		return t ? EINVAL : ESRCH;
	t->detached = true;
	return 0;
}

API int sched_yield(void)
{
	if (!exact_on())
		return REAL(sched_yield)();
	sched_cycles(EXACT_CALL);
	sched_yield_cpu();
	return 0;
}
