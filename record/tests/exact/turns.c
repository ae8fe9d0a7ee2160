// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * With LIBRARY this file is a library without instrumentation, which waits in loops without system
 * calls, or calculates. Otherwise turns KIND is a program whose threads wait in the library.
 */
#ifdef LIBRARY

void await(const int *word, int value);
int await_counted(const int *word, int value);
unsigned long long calculated(unsigned long rounds);
unsigned long long counted(unsigned long rounds);

void await(const int *word, int value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		__builtin_ia32_pause();
}

int await_counted(const int *word, int value)
{
	unsigned int rounds = 0;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		rounds++;
	return (int)rounds;
}

unsigned long long calculated(unsigned long rounds)
{
	unsigned long long x = 1;

	for (unsigned long i = 0; i < rounds; i++)
		x = x * 6364136223846793005ull + i;
	return x;
}

unsigned long long counted(unsigned long rounds)
{
	volatile unsigned long n = 0;

	while (n < rounds)
		n++;
	return n;
}

#else

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helping.h"

#define THREADS 3
#define ROUNDS	4

extern void await(const int *word, int value);
extern int await_counted(const int *word, int value);
extern unsigned long long calculated(unsigned long rounds);
extern unsigned long long counted(unsigned long rounds);

static atomic_int go, arrived;

static void *works(void *arg)
{
	sigset_t all;

	if (arg) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, NULL);
	}
	for (int i = 1; i <= ROUNDS; i++) {
		await((int *)&go, i);
		atomic_fetch_add(&arrived, 1);
	}
	return NULL;
}

/* In each round all threads wait for the first one, and it waits for them. */
static void rounds(void *blocked)
{
	pthread_t made[THREADS];

	for (int i = 0; i < THREADS; i++)
		made[i] = start(works, blocked);
	usleep(100);
	for (int i = 1; i <= ROUNDS; i++) {
		atomic_store(&go, i);
		await((int *)&arrived, THREADS * i);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(made[i], NULL);
	printf("%d\n", arrived);
}

static void *sets(void *arg)
{
	usleep(1000);
	go = 1;
	return arg;
}

static void *waits_for_two(void *arg)
{
	await((int *)&go, 2);
	return arg;
}

/* A loop in assembly, which the compiler cannot instrument. */
static void in_assembly(void)
{
	int *word = (int *)&go;

	__asm__ volatile("1: pause; cmpl $1, (%0); jne 1b" : : "r"(word) : "memory", "cc");
}

/* Returns the host's CPU time: getrusage() of the library would return the machine's. */
static double cpu_seconds(void)
{
	struct rusage used;

	syscall(SYS_getrusage, RUSAGE_SELF, &used);
	return (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec;
}

/* Makes one call that computes for @seconds of this host's CPU time. */
static void long_work(unsigned long long (*work)(unsigned long rounds), double seconds)
{
	double begin = cpu_seconds();
	unsigned long rounds = 50000000;

	work(rounds);
	rounds = (unsigned long)(seconds * (double)rounds / (cpu_seconds() - begin));
	printf("%d ", work(rounds) != 0);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	if (!strcmp(kind, "rounds") || !strcmp(kind, "blocked")) {
		rounds(*kind == 'b' ? argv : NULL);
	} else if (!strcmp(kind, "endless")) {
		pthread_t made[2] = { start(sets, NULL), start(waits_for_two, NULL) };

		pthread_join(made[1], NULL);
	} else {
		pthread_t made = start(sets, NULL);

		if (!strcmp(kind, "counted"))
			await_counted((int *)&go, 1);
		else if (!strcmp(kind, "assembly"))
			in_assembly();
		else if (!strcmp(kind, "memory"))
			long_work(counted, 8);
		else
			long_work(calculated, 3);
		pthread_join(made, NULL);
		printf("%d\n", go);
	}
	return 0;
}

#endif
