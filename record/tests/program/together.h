/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* together.h - starts threads with the numbers from 0 on, which can wait for each other. */
#include <pthread.h>

static pthread_barrier_t ready;

/* Run @n threads, at most 8, and wait for their ends. */
static inline void together(long n, void *(*work)(void *me))
{
	pthread_t t[8];

	pthread_barrier_init(&ready, NULL, n);
	for (long i = 0; i < n; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (long i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

/* The main() of a program that does nothing else. */
#define ONLY_TOGETHER(n, work)     \
	int main(void)             \
	{                          \
		together(n, work); \
		return 0;          \
	}
