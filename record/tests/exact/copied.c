// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * copied KIND: two threads share memory that was allocated as bytes.
 *   fields  they use it by a pointer to struct message, and copy from it into a struct note
 *   bytes   they only copy, so nothing shows the type of the memory
 */
#include <string.h>

#include "helping.h"

#define TURNS 3000

struct message {
	long number, kind;
	double body[6];
};

struct note {
	int first, second;
	char text[56];
};

static void *shared;
static struct message *messages;
static volatile size_t asked = 8;

__attribute__((noinline)) static void take(struct note *into, size_t n)
{
	memcpy(into, shared, n);
}

static void *copies(void *arg)
{
	struct note *own = calloc(1, sizeof(*own));
	size_t size = asked; /* the compiler does not know it */

	need(own != NULL);
	for (int i = 0; i < TURNS; i++) {
		take(own, size);
		need(!own->first);
		memcpy(shared, own, size);
	}
	free(own);
	return arg;
}

static void *uses(void *arg)
{
	struct note *own = calloc(1, sizeof(*own));
	size_t size = asked; /* the compiler does not know it */

	need(own != NULL);
	for (int i = 0; i < TURNS; i++) {
		__atomic_store_n(&messages->number, i, __ATOMIC_RELAXED);
		__atomic_add_fetch(&messages->kind, 1, __ATOMIC_RELAXED);
		take(own, size);
	}
	free(own);
	return arg;
}

int main(int argc, char **argv)
{
	void *(*does)(void *);
	pthread_t other;

	if (argc < 2)
		return 2;
	does = strcmp(argv[1], "fields") != 0 ? copies : uses;
	shared = aligned_alloc(64, 64);
	need(shared != NULL);
	memset(shared, 0, 64);
	messages = shared;
	other = start(does, NULL);
	does(NULL);
	pthread_join(other, NULL);
	return 0;
}
