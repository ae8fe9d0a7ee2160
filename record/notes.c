// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * What names addresses and threads afterwards: mappings, stacks, and the threads that ran.
 *
 * One lock guards three tables of fixed size. A program maps memory for as long as it runs, so the
 * last mappings replace the first ones. A stack or a thread beyond the limit goes unnamed. A fork
 * holds the lock, so that the child's copy is whole.
 */
#include <pthread.h>

#include "user.h"

#define REGIONS 16384u
#define STACKS	USER_THREADS

struct region {
	uint64_t at, size;
	bool shared;
};

struct stack {
	uint64_t pointer;
	pid_t tid;
};

struct named {
	uint32_t number, cpu;
	pid_t tid;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct region region[REGIONS];
static uint64_t nr_regions; /* since the start; the last REGIONS are kept */
static struct stack stack[STACKS];
static uint32_t nr_stacks;
static struct named named[STACKS];
static uint32_t nr_named;

void notes_thread(const struct user_thread *t)
{
	pthread_mutex_lock(&lock);
	if (nr_named < STACKS)
		named[nr_named++] = (struct named){ t->number, t->cpu, t->tid };
	pthread_mutex_unlock(&lock);
}

void notes_region(uint64_t at, uint64_t size, bool shared)
{
	pthread_mutex_lock(&lock);
	region[nr_regions++ % REGIONS] = (struct region){ at, size, shared };
	pthread_mutex_unlock(&lock);
}

void notes_stack(pid_t tid, uint64_t pointer)
{
	pthread_mutex_lock(&lock);
	if (nr_stacks < STACKS)
		stack[nr_stacks++] = (struct stack){ pointer, tid };
	pthread_mutex_unlock(&lock);
}

void notes_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

void notes_after_fork(bool in_child)
{
	if (in_child)
		nr_named = 0;
	pthread_mutex_unlock(&lock);
}

void notes_json(json_t *into)
{
	json_t *regions = json_array(), *stacks = json_array(), *threads = json_array();

	pthread_mutex_lock(&lock);
	for (uint64_t i = nr_regions > REGIONS ? nr_regions - REGIONS : 0; i < nr_regions; i++) {
		const struct region *r = &region[i % REGIONS];

		json_array_append_new(regions, json_pack("[I, I, b]", (json_int_t)r->at,
							 (json_int_t)r->size, (int)r->shared));
	}
	for (uint32_t i = 0; i < nr_stacks; i++)
		json_array_append_new(
			stacks, json_pack("[i, I]", stack[i].tid, (json_int_t)stack[i].pointer));
	for (uint32_t i = 0; i < nr_named; i++)
		json_array_append_new(threads, json_pack("[i, i, i]", (int)named[i].number,
							 named[i].tid, (int)named[i].cpu));
	pthread_mutex_unlock(&lock);
	json_object_set_new(into, "regions", regions);
	json_object_set_new(into, "stacks", stacks);
	json_object_set_new(into, "threads", threads);
}
