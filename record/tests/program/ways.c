// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * record-ways [SIGNALS]: two threads reach counters in ways in which a recorded stack of calls can
 * go wrong. Each counter has its own line, which both threads write. SIGNALS 0 runs no handlers.
 *
 * Exit status: 0; 1 when a counter has not been reached as often as it must be.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define LINE	128
#define TIMES	200
#define DEEP	500
#define DEEPER	3000
#define SPREAD	11
#define STACK	(1u << 20)
#define THREADS 2

/* The compiler inlines no call, and STAY() at the end prevents tail calls. */
#define STEP   __attribute__((noinline))
#define STAY() __asm__ volatile("" ::: "memory")

struct counter {
	long n;
} __attribute__((aligned(LINE)));

static struct counter direct, jumped, skipped, handled, resumed, inside, outside, deep, shallow;
static struct counter pointed, many;
static pthread_barrier_t ready;
static bool signals = true;

STEP static void add(struct counter *c)
{
	__atomic_fetch_add(&c->n, 1, __ATOMIC_RELAXED);
	STAY();
}

STEP static void often(void)
{
	add(&direct);
	add(&direct);
	add(&direct);
	STAY();
}

STEP static void rarely(void)
{
	add(&direct);
	STAY();
}

/* ---- a jump out of two calls ---- */

STEP static void leaps(jmp_buf *to)
{
	longjmp(*to, 1);
}

STEP static void above(jmp_buf *to)
{
	leaps(to);
	STAY();
}

STEP static void after_jump(void)
{
	jmp_buf here;

	if (!setjmp(here))
		above(&here);
	add(&jumped);
	STAY();
}

STEP static void jumps(void)
{
	jmp_buf here;

	if (!setjmp(here))
		above(&here);
	STAY();
}

/* The frame of large() extends below the frames that the jump skipped. */
STEP static void large(void)
{
	char room[8192];

	__asm__ volatile("" : : "r"(room) : "memory");
	add(&skipped);
	STAY();
}

/* ---- a handler on a stack of its own ---- */

static void on_signal(int number)
{
	add(&handled);
	STAY();
}

STEP static void after_signal(void)
{
	if (signals)
		pthread_kill(pthread_self(), SIGUSR1);
	add(&resumed);
	STAY();
}

/* ---- a fiber ---- */

static _Thread_local ucontext_t fiber, thread;

static void in_fiber(void)
{
	for (;;) {
		add(&inside);
		swapcontext(&fiber, &thread);
	}
}

STEP static void after_fiber(void)
{
	swapcontext(&thread, &fiber);
	add(&outside);
	STAY();
}

/* ---- many calls, and one through memory ---- */

STEP static void down(int depth)
{
	if (depth)
		down(depth - 1);
	else
		add(&deep);
	STAY();
}

STEP static void deeper(int depth)
{
	if (depth)
		deeper(depth - 1);
	STAY();
}

STEP static void after_deeper(void)
{
	add(&shallow);
	STAY();
}

/* More call paths to one counter than the recorder distinguishes. */
STEP static void spread(int depth)
{
	if (!depth) {
		add(&many);
		STAY();
		return;
	}
	spread(depth - 1);
	STAY();
	spread(depth - 1);
	STAY();
}

static void (*volatile through)(struct counter *) = add;

STEP static void pointer(void)
{
	through(&pointed);
	STAY();
}

static void *new_stack(void)
{
	void *at = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

STEP static void round_of_all(int rounds)
{
	often();
	rarely();
	after_jump();
	jumps();
	large();
	after_signal();
	after_fiber();
	down(DEEP);
	deeper(rounds % 50 ? 1 : DEEPER);
	after_deeper();
	pointer();
	STAY();
}

static void *work(void *unused)
{
	stack_t other = { .ss_sp = new_stack(), .ss_size = STACK };

	if (sigaltstack(&other, NULL) || getcontext(&fiber))
		abort();
	fiber.uc_stack = (stack_t){ .ss_sp = new_stack(), .ss_size = STACK };
	makecontext(&fiber, in_fiber, 0);
	for (int i = 0; i < TIMES; i++) {
		pthread_barrier_wait(&ready);
		round_of_all(i);
	}
	/* Last, because the recorder distinguishes no further ways after these. */
	spread(SPREAD);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	pthread_t threads[THREADS];
	long each = TIMES * THREADS;

	signals = argc < 2 || strcmp(argv[1], "0") != 0;
	if (sigaction(SIGUSR1, &action, NULL) || pthread_barrier_init(&ready, NULL, THREADS))
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return direct.n != 4 * each || jumped.n != each || handled.n != signals * each ||
	       resumed.n != each || inside.n != each || outside.n != each || deep.n != each ||
	       pointed.n != each || skipped.n != each || shallow.n != each ||
	       many.n != (long)THREADS << SPREAD;
}
