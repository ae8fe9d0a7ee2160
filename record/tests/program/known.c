// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * record-known CASE THREADS OPERATIONS THINK: each thread does OPERATIONS on memory whose sharing
 * is known, with about THINK instructions between two of them.
 *
 *   one      add to one counter
 *   side     add to the thread's own counter; the counters lie side by side
 *   apart    add to the thread's own counter; each counter has its own line
 *   queue    take and release a queue lock that protects a counter; THINK inside it
 *   readers  enter and leave a lock that counts readers
 *   ring     two threads hand over messages, one at a time; indices and message have a line each
 *   packed   the same; all of it in one line
 *   heap     add to the thread's own counter; the counters are one allocation
 *   store    load one word and store to it, without atomic operations
 *   meet     as 'queue', but THINK outside it: the lock is free when it is taken
 *
 * The window is open from when all threads are ready until all have ended.
 *
 * Exit status: 0; 1 when the memory does not hold what it must in the end; 2 for bad arguments.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c2c-mark.h"

#define THREADS 64
#define LINE	64

struct worker {
	uint64_t count;
	uint64_t other;
};

struct alone {
	struct worker worker;
} __attribute__((aligned(2 * LINE)));

struct node {
	struct node *next;
	uint64_t locked;
} __attribute__((aligned(2 * LINE)));

static struct alone one;
static struct worker side[THREADS] __attribute__((aligned(2 * LINE)));
static struct alone apart[THREADS];
static struct node node[THREADS];
static struct node *tail __attribute__((aligned(2 * LINE)));
static uint64_t protected __attribute__((aligned(2 * LINE)));
static uint64_t readers __attribute__((aligned(2 * LINE)));

static struct {
	uint64_t sent __attribute__((aligned(2 * LINE)));
	uint64_t taken __attribute__((aligned(2 * LINE)));
	uint64_t message __attribute__((aligned(2 * LINE)));
} ring;

static struct {
	uint64_t sent, taken, message;
} packed __attribute__((aligned(2 * LINE)));

static struct worker *on_heap;
static const char *name;
static unsigned long nr, operations, pause_for;
static pthread_barrier_t ready;
static uint64_t sums[THREADS][2 * LINE / sizeof(uint64_t)];

static void think(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(i));
}

static void add(struct worker *w)
{
	__atomic_fetch_add(&w->count, 1, __ATOMIC_RELAXED);
}

static void queue_lock(struct node *me)
{
	struct node *before;

	me->next = NULL;
	me->locked = 1;
	before = __atomic_exchange_n(&tail, me, __ATOMIC_ACQ_REL);
	if (!before)
		return;
	__atomic_store_n(&before->next, me, __ATOMIC_RELEASE);
	while (__atomic_load_n(&me->locked, __ATOMIC_ACQUIRE))
		;
}

static void queue_unlock(struct node *me)
{
	struct node *next = __atomic_load_n(&me->next, __ATOMIC_ACQUIRE), *self = me;

	if (!next && __atomic_compare_exchange_n(&tail, &self, NULL, false, __ATOMIC_RELEASE,
						 __ATOMIC_RELAXED))
		return;
	while (!next)
		next = __atomic_load_n(&me->next, __ATOMIC_ACQUIRE);
	__atomic_store_n(&next->locked, 0, __ATOMIC_RELEASE);
}

static void hand_over(bool sends, uint64_t *sent, uint64_t *taken, uint64_t *message, uint64_t *sum)
{
	for (uint64_t k = 0; k < operations; k++) {
		if (sends) {
			while (__atomic_load_n(taken, __ATOMIC_ACQUIRE) != k)
				;
			think(pause_for);
			*message = k;
			__atomic_store_n(sent, k + 1, __ATOMIC_RELEASE);
		} else {
			while (__atomic_load_n(sent, __ATOMIC_ACQUIRE) == k)
				;
			*sum += *message;
			think(pause_for);
			__atomic_store_n(taken, k + 1, __ATOMIC_RELEASE);
		}
	}
}

static void operate(unsigned long i)
{
	if (!strcmp(name, "one")) {
		add(&one.worker);
	} else if (!strcmp(name, "side")) {
		add(&side[i]);
	} else if (!strcmp(name, "apart")) {
		add(&apart[i].worker);
	} else if (!strcmp(name, "heap")) {
		add(&on_heap[i]);
	} else if (!strcmp(name, "store")) {
		sums[i][0] += __atomic_load_n(&one.worker.other, __ATOMIC_RELAXED);
		__atomic_store_n(&one.worker.other, i, __ATOMIC_RELAXED);
	} else if (!strcmp(name, "queue") || !strcmp(name, "meet")) {
		queue_lock(&node[i]);
		protected++;
		if (!strcmp(name, "queue"))
			think(pause_for);
		queue_unlock(&node[i]);
	} else {
		__atomic_fetch_add(&readers, 1, __ATOMIC_ACQUIRE);
		think(pause_for);
		__atomic_fetch_sub(&readers, 1, __ATOMIC_RELEASE);
	}
}

static void *work(void *arg)
{
	unsigned long i = (unsigned long)(uintptr_t)arg;

	pthread_barrier_wait(&ready);
	think(i * pause_for / nr);
	if (!strcmp(name, "ring")) {
		hand_over(!i, &ring.sent, &ring.taken, &ring.message, sums[i]);
		return NULL;
	}
	if (!strcmp(name, "packed")) {
		hand_over(!i, &packed.sent, &packed.taken, &packed.message, sums[i]);
		return NULL;
	}
	for (unsigned long k = 0; k < operations; k++) {
		operate(i);
		if (strcmp(name, "queue") != 0)
			think(pause_for);
	}
	return NULL;
}

static uint64_t found(void)
{
	uint64_t sum = one.worker.count + protected;

	for (unsigned long i = 0; i < nr; i++)
		sum += side[i].count + apart[i].worker.count + on_heap[i].count;
	return sum;
}

static bool is_right(void)
{
	if (!strcmp(name, "ring") || !strcmp(name, "packed"))
		return sums[1][0] == operations * (operations - 1) / 2;
	if (!strcmp(name, "store"))
		return one.worker.other < nr;
	return !strcmp(name, "readers") ? !readers : found() == nr * operations;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	if (argc != 5)
		return 2;
	name = argv[1];
	nr = strtoul(argv[2], NULL, 10);
	operations = strtoul(argv[3], NULL, 10);
	pause_for = strtoul(argv[4], NULL, 10);
	if (!nr || nr > THREADS)
		return 2;
	on_heap = aligned_alloc(LINE, THREADS * sizeof(*on_heap)); /* four to a line */
	memset(on_heap, 0, THREADS * sizeof(*on_heap));
	pthread_barrier_init(&ready, NULL, (unsigned int)nr + 1);
	for (unsigned long i = 0; i < nr; i++)
		pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i);
	c2c_open();
	pthread_barrier_wait(&ready);
	for (unsigned long i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
	c2c_close();
	printf("%s: %s\n", name, is_right() ? "right" : "wrong");
	return is_right() ? 0 : 1;
}
