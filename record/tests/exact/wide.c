// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * wide THREADS: threads use atomic operations of 16 bytes. They push and pop nodes of one stack,
 * whose head is a pointer with a change count, and add to a sum of 16 bytes. The program prints the
 * number of lost nodes, and whether the count and the halves of the sum are right.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TIMES 200

struct head {
	uintptr_t first;
	uint64_t changes;
};

struct node {
	struct node *next;
};

static _Atomic struct head stack;
static unsigned __int128 sum, last;

static void push(struct node *n)
{
	struct head old = atomic_load(&stack), new;

	do {
		n->next = (struct node *)old.first;
		new = (struct head){ (uintptr_t)n, old.changes + 1 };
	} while (!atomic_compare_exchange_weak(&stack, &old, new));
}

static struct node *pop(void)
{
	struct head old = atomic_load(&stack), new;

	do {
		if (!old.first)
			return NULL;
		new = (struct head){ (uintptr_t)((struct node *)old.first)->next, old.changes + 1 };
	} while (!atomic_compare_exchange_strong(&stack, &old, new));
	return (struct node *)old.first;
}

static void *work(void *arg)
{
	struct node *n = arg;

	for (int i = 0; i < TIMES; i++) {
		push(n);
		n = pop();
		__atomic_fetch_add(&sum, ((unsigned __int128)1 << 64) + UINT64_MAX,
				   __ATOMIC_RELAXED);
		__atomic_store_n(&last, sum, __ATOMIC_RELEASE);
	}
	push(n);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long nr = argc == 2 ? strtoul(argv[1], NULL, 10) : 0, left = 0;
	unsigned __int128 right;
	struct head end;
	pthread_t thread[64];
	struct node node[64];

	if (!nr || nr > 64)
		return 2;
	for (unsigned long i = 0; i < nr; i++)
		pthread_create(&thread[i], NULL, work, &node[i]);
	for (unsigned long i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
	while (pop())
		left++;
	end = atomic_load(&stack);
	right = (((unsigned __int128)1 << 64) + UINT64_MAX) * nr * TIMES;
	printf("%lu %d %d\n", nr - left, end.changes == 2 * nr * (TIMES + 1), sum == right);
	return 0;
}
