// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * record-latent WHAT: two threads each add to their own element, and no line is used by both. With
 * "limits", both read a line that nobody writes, and one writes the next line of the same object.
 *
 * WHAT: "moves": elements of one line, which malloc() happens to align; "pairs": the same, aligned
 * by the program; "fixed": a variable of an aligned type; "alone": "pairs" without another access
 * of the first thread; "apart": aligned elements of two lines.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LINE	64u
#define THREADS 2u
#define TIMES	20000u

struct element {
	long first;
	char rest[LINE - 2 * sizeof(long)];
	long last;
};

static struct {
	struct element element[THREADS];
} fixed __attribute__((aligned(2 * LINE)));

static struct limits {
	long limit, burst, tokens, unused[2];
} * limits;
static struct element *elements;
static unsigned int step = 1;
static unsigned int there;

static void *work(void *arg)
{
	struct element *mine = &elements[step * (uintptr_t)arg];

	/* No thread sleeps, so none starts late. */
	__atomic_fetch_add(&there, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&there, __ATOMIC_SEQ_CST) < THREADS)
		;
	for (unsigned int i = 0; i < TIMES; i++) {
		__atomic_fetch_add(&mine->first, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&mine->last, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *look(void *arg)
{
	long sum = 0;

	__atomic_fetch_add(&there, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&there, __ATOMIC_SEQ_CST) < THREADS)
		;
	for (unsigned int i = 0; i < TIMES; i++) {
		sum += __atomic_load_n(&limits->limit, __ATOMIC_RELAXED);
		if (!arg)
			__atomic_fetch_add(&limits->tokens, 1, __ATOMIC_RELAXED);
	}
	return sum == TIMES ? NULL : limits;
}

/* As by_luck(): the limits end one line, and the tokens begin the next one. */
__attribute__((noinline)) static struct limits *cut(void)
{
	for (;;) {
		struct limits *l = malloc(sizeof(*l));

		if (!l || (uintptr_t)&l->tokens % LINE == 0)
			return l;
	}
}

/* A new heap allocates chunks in sequence. Their size is not a multiple of a line. */
__attribute__((noinline)) static struct element *by_luck(void)
{
	for (;;) {
		struct element *e = malloc(THREADS * sizeof(*e));

		if (!e || (uintptr_t)e % LINE == 0)
			return e;
	}
}

__attribute__((noinline)) static struct element *aligned(void)
{
	void *e;

	return posix_memalign(&e, 2 * LINE, 2 * THREADS * sizeof(struct element)) ? NULL : e;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	long sum = 0;
	bool alone;

	if (argc != 2)
		return 2;
	limits = !strcmp(argv[1], "limits") ? cut() : NULL;
	elements = !strcmp(argv[1], "fixed")   ? fixed.element
		   : !strcmp(argv[1], "moves") ? by_luck()
					       : aligned();
	step += !strcmp(argv[1], "apart");
	if (!elements)
		return 1;
	alone = !strcmp(argv[1], "alone");
	if (!alone)
		memset(elements, 0, step * THREADS * sizeof(*elements));
	if (limits)
		limits->limit = 1;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, limits ? look : work, (void *)i);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	if (alone || limits)
		return 0;
	for (unsigned int i = 0; i < THREADS; i++)
		sum += elements[step * i].first + elements[step * i].last;
	return sum != 2 * THREADS * TIMES;
}
