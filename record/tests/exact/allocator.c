// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * allocator [ends]: four threads use the program's own allocator, which has one lock around one
 * list. With `ends` the first thread ends the program while another one holds the lock.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define TIMES	200
#define LINE	64u

static _Alignas(LINE) char room[32 << 20];
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *returned;
static atomic_int slow;

void *malloc(size_t size)
{
	size_t lines = (size + LINE - 1) / LINE + !size;
	void *at = NULL;

	pthread_mutex_lock(&lock);
	while (slow)
		usleep(100);
	if (lines == 1 && returned) {
		at = returned;
		memcpy(&returned, at, sizeof(returned));
	} else if (used + lines * LINE <= sizeof(room)) {
		at = room + used;
		used += lines * LINE;
	}
	pthread_mutex_unlock(&lock);
	return at;
}

/* malloc() reuses freed memory for blocks of at most one line. */
void free(void *at)
{
	if (!at)
		return;
	pthread_mutex_lock(&lock);
	memcpy(at, &returned, sizeof(returned));
	returned = at;
	pthread_mutex_unlock(&lock);
}

void *calloc(size_t n, size_t size)
{
	void *at = malloc(n * size);

	return at ? memset(at, 0, n * size) : NULL;
}

void *realloc(void *at, size_t size)
{
	void *new = malloc(size);

	if (at && new)
		memmove(new, at, size);
	return new;
}

static void *work(void *arg)
{
	for (int i = 0; i < TIMES; i++) {
		volatile char *at = malloc(60);

		at[0] = 1;
		free((void *)at);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t made[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&made[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(made[i], NULL);
	write(1, "done\n", 5);
	if (argc > 1) {
		slow = 1;
		pthread_create(&made[0], NULL, work, NULL);
		usleep(1000);
		_exit(0);
	}
	return 0;
}
