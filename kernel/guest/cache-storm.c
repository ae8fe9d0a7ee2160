// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * cache-storm SECONDS [SEED]: processes with a few threads run for some ticks and end in every way,
 * again and again. The kernel keeps where each process ran, for cache-aware scheduling. So it
 * makes, scans, replaces and frees that state while other CPUs read it.
 *
 * A process ends normally, by a signal, or by _exit() or exec while its threads run. Or its main
 * thread ends first, and the last thread ends the process. Its program may begin by fork or vfork.
 * Threads spin, so that ticks find them; sometimes they yield and sleep, so that they move.
 *
 * Exit status 0: every process ended as expected. 1: one did not, and is described. The same seed
 * makes the same choices, not the same interleaving.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MSEC	    1000000ull
#define PARENTS	    8
#define MAX_THREADS 6
#define SELF	    "/proc/self/exe"
#define LEAF_STATUS 7

enum ending { BY_EXIT, BY_EXEC, BY_JOIN, BY_LAST_THREAD, BY_SIGNAL, BY_VFORK, ENDINGS };

static const char *const ending_name[ENDINGS] = {
	"_exit() while threads run",
	"exec while threads run",
	"all threads joined",
	"main thread first",
	"signal",
	"vfork and exec",
};

struct work {
	uint64_t until;
	uint64_t rng;
};

static void *spin(void *argument)
{
	struct work *work = argument;

	while (now_ns() < work->until) {
		for (volatile unsigned int i = 0; i < 20000; i++)
			;
		switch (rng_below(&work->rng, 16)) {
		case 0:
			sleep_ns(MSEC);
			break;
		case 1:
			sched_yield();
			break;
		}
	}
	return NULL;
}

/* Start threads that spin for @msecs. Return: their number. */
static unsigned int start(pthread_t *thread, uint64_t *rng, unsigned int msecs)
{
	static struct work work[MAX_THREADS];
	unsigned int want = 1 + rng_below(rng, MAX_THREADS), nr;

	for (nr = 0; nr < want; nr++) {
		work[nr] = (struct work){ now_ns() + msecs * MSEC, rng_next(rng) };
		if (pthread_create(&thread[nr], NULL, spin, &work[nr]))
			break;
	}
	return nr;
}

static void become_leaf(unsigned int msecs)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", msecs);
	execl(SELF, "cache-storm", "leaf", text, (char *)NULL);
	_exit(99);
}

/* The life of the process that ends. It does not return, except when execl() or raise() fails. */
static void live(enum ending how, uint64_t rng)
{
	unsigned int msecs = 5 + rng_below(&rng, 120), nr;
	struct work own = { now_ns() + msecs * MSEC / 2, rng_next(&rng) };
	pthread_t thread[MAX_THREADS];

	nr = start(thread, &rng, how == BY_EXIT || how == BY_EXEC ? 10000 : msecs);
	spin(&own);
	switch (how) {
	case BY_EXIT:
		_exit(0);
	case BY_EXEC:
		become_leaf(5 + rng_below(&rng, 60));
		break;
	case BY_LAST_THREAD:
		pthread_exit(NULL);
	case BY_SIGNAL:
		raise(SIGKILL);
		break;
	default:
		while (nr--)
			pthread_join(thread[nr], NULL);
		_exit(0);
	}
}

static bool ended_well(enum ending how, int status)
{
	if (how == BY_SIGNAL)
		return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	if (!WIFEXITED(status))
		return false;
	return WEXITSTATUS(status) == (how == BY_EXEC || how == BY_VFORK ? LEAF_STATUS : 0);
}

/* A separate function: until the child has begun its program, it uses this stack frame too. */
static pid_t begin_by_vfork(unsigned int msecs)
{
	/* The test is of vfork(). NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork) */
	pid_t pid = vfork();

	if (pid == 0)
		become_leaf(msecs); /* NOLINT(clang-analyzer-unix.Vfork) */
	return pid;
}

static pid_t begin_by_fork(enum ending how, uint64_t seed)
{
	pid_t pid = fork();

	if (pid == 0) {
		live(how, seed);
		_exit(98);
	}
	return pid;
}

/* A process that creates others until the time is over. Return: its exit status. */
static int parent(uint64_t end, uint64_t rng, unsigned int number)
{
	unsigned int done[ENDINGS] = { 0 }, faults = 0;

	while (now_ns() < end && !faults) {
		enum ending how = rng_below(&rng, ENDINGS);
		pid_t pid = how == BY_VFORK ? begin_by_vfork(5 + rng_below(&rng, 60))
					    : begin_by_fork(how, rng_next(&rng));
		int status;

		if (pid < 0) {
			printf("cannot fork: %s\n", strerror(errno));
			return 1;
		}
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (!ended_well(how, status)) {
			printf("%s: ended with status %#x\n", ending_name[how],
			       (unsigned int)status);
			faults++;
		}
		done[how]++;
	}
	if (number == 0) {
		for (unsigned int how = 0; how < ENDINGS; how++)
			printf("one of %d parents: %u times %s\n", PARENTS, done[how],
			       ending_name[how]);
	}
	return faults != 0;
}

static int leaf(unsigned int msecs)
{
	uint64_t rng = (uint64_t)getpid();
	pthread_t thread[MAX_THREADS];
	unsigned int nr = start(thread, &rng, msecs);

	while (nr--)
		pthread_join(thread[nr], NULL);
	return LEAF_STATUS;
}

int main(int argc, char **argv)
{
	uint64_t seed, end;
	int faults = 0, status;

	if (argc == 3 && !strcmp(argv[1], "leaf"))
		return leaf((unsigned int)atoi(argv[2]));
	end = now_ns() + parse_seconds("cache-storm", argc > 1 ? argv[1] : NULL) * 1000 * MSEC;
	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned int i = 0; i < PARENTS; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			printf("cannot fork: %s\n", strerror(errno));
			return 1;
		}
		if (pid == 0)
			exit(parent(end, seed + i, i));
	}
	while (wait(&status) > 0 || errno == EINTR)
		faults += status != 0;
	return faults != 0;
}
