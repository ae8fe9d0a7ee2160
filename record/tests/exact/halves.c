// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Two threads store to the same offsets of two adjacent lines, and each must read what it stored
 * itself. The stores are plain ones, which wait in the store buffer, and locked operations.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define ROUNDS 2000

static struct {
	_Alignas(64) atomic_uint stored, swapped;
} half[2] __attribute__((aligned(128)));

static pthread_barrier_t both;

static void *own(void *mine)
{
	unsigned int me = mine == &half[1];

	pthread_barrier_wait(&both);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		unsigned int value = 2 * i + me, was = i, its;

		atomic_store_explicit(&half[me].stored, value, memory_order_relaxed);
		its = atomic_load_explicit(&half[!me].stored, memory_order_relaxed);
		if ((its && its % 2 == me) ||
		    atomic_load_explicit(&half[me].stored, memory_order_relaxed) != value ||
		    !atomic_compare_exchange_strong(&half[me].swapped, &was, i + 1))
			abort();
	}
	return NULL;
}

int main(void)
{
	pthread_t second;

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&second, NULL, own, &half[1]);
	own(&half[0]);
	pthread_join(second, NULL);
	return half[0].swapped != ROUNDS || half[1].swapped != ROUNDS;
}
