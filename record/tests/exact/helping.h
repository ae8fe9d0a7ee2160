/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* helping.h - functions that the test programs with threads share. */
#ifndef TESTS_EXACT_HELPING_H
#define TESTS_EXACT_HELPING_H

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUCH 300000

static int ends[2];
static char got[MUCH];

static void need(int good)
{
	if (!good)
		exit(3);
}

/* Block one signal, or unblock it, in this thread. */
static void change(int how, int which)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, which);
	need(!pthread_sigmask(how, &set, NULL));
}

/* A thread that reads MUCH bytes from a pipe. */
static void *takes_all(void *arg)
{
	ssize_t n;

	usleep(500);
	for (size_t done = 0; done < MUCH; done += (size_t)n)
		need((n = read(ends[0], got + done, MUCH - done)) > 0);
	return arg;
}

static pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t made;

	need(!pthread_create(&made, NULL, run, arg));
	return made;
}

/* What a program does for the word that its first argument is. */
struct kind {
	const char *name;
	void (*run)(void);
};

/* Return: false: no word of the @n is @name. */
static inline int run_kind(const struct kind *kind, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (name && !strcmp(name, kind[i].name)) {
			kind[i].run();
			return 1;
		}
	}
	return 0;
}

#define RUN_KIND(kinds, name) run_kind(kinds, sizeof(kinds) / sizeof(*(kinds)), name)

#endif
