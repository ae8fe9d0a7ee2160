// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * cache-work forks COUNT: makes COUNT children that end at once. Then it makes COUNT children that
 * first execute this program.
 * cache-work threads PROCESSES THREADS SECONDS: makes processes whose threads spin, so that the
 * scheduler scans each process in every epoch.
 *
 * Both modes show what the scheduler's state per process costs; `kernel c2c` measures that cost.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t until;

static unsigned long number(const char *text, unsigned long most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || !n || n > most) {
		fprintf(stderr, "cache-work: '%s' is not a number from 1 to %lu\n", text, most);
		exit(2);
	}
	return n;
}

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "cache-work: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void wait_for(pid_t pid)
{
	int status;

	must(pid > 0 && waitpid(pid, &status, 0) == pid, "waiting for a child");
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "cache-work: a child failed\n");
		exit(1);
	}
}

static void forks(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		wait_for(pid);
	}
	for (unsigned long i = 0; i < count; i++) {
		pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */

		if (!pid) {
			execl("/proc/self/exe", "cache-work", "end", NULL);
			_exit(1);
		}
		wait_for(pid);
	}
}

static void *spin(void *unused)
{
	while (now_ns() < until)
		for (volatile int i = 0; i < 10000; i++)
			;
	return unused;
}

static void spin_all(unsigned long threads)
{
	pthread_t thread[GUEST_CPUS];

	for (unsigned long i = 0; i < threads; i++) {
		errno = pthread_create(&thread[i], NULL, spin, NULL);
		must(!errno, "a thread");
	}
	for (unsigned long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

static void threads(unsigned long processes, unsigned long nr_threads, unsigned long seconds)
{
	until = now_ns() + seconds * 1000000000;
	for (unsigned long i = 0; i < processes; i++) {
		pid_t pid = fork();

		must(pid >= 0, "fork");
		if (!pid) {
			spin_all(nr_threads);
			_exit(0);
		}
	}
	for (unsigned long i = 0; i < processes; i++)
		must(wait(NULL) > 0, "waiting for a child");
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "end"))
		return 0;
	if (argc == 3 && !strcmp(argv[1], "forks"))
		forks(number(argv[2], 100000));
	else if (argc == 5 && !strcmp(argv[1], "threads"))
		threads(number(argv[2], 1000), number(argv[3], GUEST_CPUS), number(argv[4], 3600));
	else {
		fprintf(stderr, "usage: cache-work forks N | threads N THREADS SECONDS\n");
		return 2;
	}
	return 0;
}
