// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* stamps KIND: the time-stamp counter is the machine's, and the program can still use SIGILL. */
#include <sched.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <x86intrin.h>

#include "helping.h"

#define CYCLES 20000

static sigjmp_buf back;
static long sum;

static uint64_t nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Waits for CYCLES in a loop, as programs do, and sums up the time. */
static void *waits(void *arg)
{
	unsigned int cpu;

	for (int i = 0; i < 20; i++) {
		uint64_t begun = __rdtscp(&cpu), at = nanoseconds();

		need((int)(cpu & 0xfff) == sched_getcpu());
		while (__rdtsc() - begun < CYCLES)
			_mm_pause();
		__atomic_fetch_add(&sum, nanoseconds() - at, __ATOMIC_RELAXED);
	}
	return arg;
}

static void rate(void)
{
	pthread_t other[4];

	for (int i = 0; i < 4; i++)
		other[i] = start(waits, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(other[i], NULL);
	printf("%.1f\n", (double)sum / 80);
}

static void ill(int which)
{
	siglongjmp(back, which);
}

/* An instruction that no processor has, a handler for it, all signals blocked, and a child. */
static void illegal(void)
{
	uint64_t first = __rdtsc();
	sigset_t all;
	int status, which;

	signal(SIGILL, ill);
	which = sigsetjmp(back, 1);
	if (!which)
		__builtin_trap();
	sigfillset(&all);
	need(!pthread_sigmask(SIG_BLOCK, &all, NULL));
	need(__rdtsc() > first);
	if (!fork()) {
		first = __rdtsc();
		_exit(__rdtsc() > first ? 7 : 8);
	}
	need(wait(&status) > 0);
	printf("%d %d\n", which == SIGILL, WEXITSTATUS(status));
}

static int after;

/* Runs after the end of the recording. */
__attribute__((destructor)) static void at_the_end(void)
{
	uint64_t first = __rdtsc();
	sigset_t all;

	if (!after)
		return;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	printf("%d\n", __rdtsc() > first);
}

static void noted(int which)
{
	printf("%d ", which == SIGILL);
}

/* A handler that runs once, a child made by a system call, and a signal that all threads block. */
static void others(void)
{
	struct sigaction once = { .sa_handler = noted, .sa_flags = (int)SA_RESETHAND };
	uint64_t first;
	int status, which;
	sigset_t ill;

	need(!sigaction(SIGILL, &once, NULL) && !raise(SIGILL));
	first = __rdtsc();
	printf("%d ", __rdtsc() - first < 60);
	fflush(stdout);
	change(SIG_BLOCK, SIGILL);
	if (!syscall(SYS_fork)) {
		first = __rdtsc();
		_exit(__rdtsc() > first ? 7 : 8);
	}
	need(wait(&status) > 0);
	sigemptyset(&ill);
	sigaddset(&ill, SIGILL);
	need(!kill(getpid(), SIGILL) && !sigwait(&ill, &which));
	printf("%d %d ", WEXITSTATUS(status), which == SIGILL);
	after = 1;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "rate"))
		rate();
	else if (!strcmp(argv[1], "illegal"))
		illegal();
	else if (!strcmp(argv[1], "others"))
		others();
	else if (!strcmp(argv[1], "trap") && __rdtsc())
		__builtin_trap();
	return 0;
}
