// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * What names addresses and threads afterwards: mappings, stacks, frames, and the threads that ran.
 *
 * One lock guards four tables of fixed size. A program maps memory for as long as it runs, so the
 * last mappings replace the first ones. A stack or a thread beyond the limit goes unnamed. A fork
 * holds the lock, so that the child's copy is whole.
 */
#include <pthread.h>
#include <string.h>

#include "user.h"

#define REGIONS 16384u
#define STACKS	USER_THREADS
#define FRAMES	1024u

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

struct frame {
	uint64_t pc, sp, bp, end;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct region region[REGIONS];
static uint64_t nr_regions; /* since the start; the last REGIONS are kept */
static struct stack stack[STACKS];
static uint32_t nr_stacks;
static struct frame frame[FRAMES];
static uint32_t nr_frames;
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

static void note_frame(const struct frame *f)
{
	for (uint32_t i = nr_frames; i-- > 0;)
		if (!memcmp(&frame[i], f, sizeof(*f)))
			return;
	if (nr_frames < FRAMES)
		frame[nr_frames++] = *f;
}

void notes_frames(const struct protocol_frame *caller, uint32_t n)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i + 1 < n; i++)
		note_frame(&(struct frame){ caller[i].pc, caller[i].sp, caller[i].bp,
					    caller[i + 1].sp });
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
	json_t *frames = json_array();

	pthread_mutex_lock(&lock);
	for (uint64_t i = nr_regions > REGIONS ? nr_regions - REGIONS : 0; i < nr_regions; i++) {
		const struct region *r = &region[i % REGIONS];

		json_array_append_new(regions, json_pack("[I, I, b]", (json_int_t)r->at,
							 (json_int_t)r->size, (int)r->shared));
	}
	for (uint32_t i = 0; i < nr_stacks; i++)
		json_array_append_new(
			stacks, json_pack("[i, I]", stack[i].tid, (json_int_t)stack[i].pointer));
	for (uint32_t i = 0; i < nr_frames; i++)
		json_array_append_new(frames,
				      json_pack("[I, I, I, I]", (json_int_t)frame[i].pc,
						(json_int_t)frame[i].sp, (json_int_t)frame[i].bp,
						(json_int_t)frame[i].end));
	for (uint32_t i = 0; i < nr_named; i++)
		json_array_append_new(threads, json_pack("[i, i, i]", (int)named[i].number,
							 named[i].tid, (int)named[i].cpu));
	pthread_mutex_unlock(&lock);
	json_object_set_new(into, "regions", regions);
	json_object_set_new(into, "stacks", stacks);
	json_object_set_new(into, "frames", frames);
	json_object_set_new(into, "threads", threads);
}
