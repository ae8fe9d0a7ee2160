// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Keeps what the report uses to name addresses and threads: mappings, stacks, frames, and threads.
 *
 * One lock guards tables of fixed size. A program maps memory for as long as it runs, so the last
 * mappings replace the first ones. A stack or a thread beyond the limit stays unnamed. A fork holds
 * the lock, so that the child's copy is consistent.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "maps.h"
#include "pages.h"
#include "user.h"

#define REGIONS 16384u
#define STACKS	USER_THREADS
#define FRAMES	1024u
#define FILES	1024u

struct region {
	uint64_t at, size;
	bool shared, reserved;
};

struct stack {
	uint64_t pointer, local;
	pid_t tid;
};

struct part {
	uint64_t base, distance;
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
static uint64_t nr_regions; /* number since the start; the last REGIONS are kept */
static struct region heap;  /* the region whose end brk() moves */
static struct stack stack[STACKS];
static uint32_t nr_stacks;
static struct part part[FILES]; /* where files' thread-local memory lies */
static uint32_t nr_parts;
static struct frame frame[FRAMES];
static uint32_t nr_frames;
static struct named named[STACKS];
static uint32_t nr_named;
/*
 * Mapped code of files; and mappings of files that were removed, each with the number of the system
 * call that removed it.
 */
static struct region code[FILES];
static uint32_t nr_code;
static struct gone {
	uint64_t low, high, offset;
	char *path;
	uint32_t call;
} gone[FILES];
static uint32_t nr_gone, nr_calls;

void notes_thread(const struct user_thread *t)
{
	pthread_mutex_lock(&lock);
	if (nr_named < STACKS)
		named[nr_named++] = (struct named){ t->number, t->cpu, t->tid };
	pthread_mutex_unlock(&lock);
}

void notes_region(uint64_t at, uint64_t size, bool shared, bool reserved)
{
	pthread_mutex_lock(&lock);
	region[nr_regions++ % REGIONS] = (struct region){ pages_name(at), size, shared, reserved };
	pthread_mutex_unlock(&lock);
}

void notes_break(uint64_t at)
{
	pthread_mutex_lock(&lock);
	if (!heap.at)
		heap.at = at;
	if (at > heap.at + heap.size)
		heap.size = at - heap.at;
	pthread_mutex_unlock(&lock);
}

void notes_stack(pid_t tid, uint64_t pointer, uint64_t local)
{
	uint32_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < nr_stacks && stack[i].tid != tid)
		i++;
	if (i == nr_stacks && i < STACKS)
		stack[nr_stacks++] =
			(struct stack){ pointer ? pages_name(pointer) : 0, pages_name(local), tid };
	pthread_mutex_unlock(&lock);
}

void notes_locals(uint64_t base, uint64_t distance)
{
	pthread_mutex_lock(&lock);
	if (nr_parts < FILES)
		part[nr_parts++] = (struct part){ base, distance };
	pthread_mutex_unlock(&lock);
}

void notes_code(uint64_t at, uint64_t size)
{
	pthread_mutex_lock(&lock);
	if (nr_code < FILES)
		code[nr_code++] = (struct region){ .at = at, .size = size };
	pthread_mutex_unlock(&lock);
}

static void note_gone(uint64_t low, uint64_t high, uint64_t offset, const char *path, void *arg)
{
	const struct region *r = arg;

	if (nr_gone < FILES && low < r->at + r->size && r->at < high)
		gone[nr_gone++] = (struct gone){ pages_name(low), pages_name(low) + high - low,
						 offset, strdup(path), nr_calls };
}

void notes_file(uint64_t low, uint64_t high, uint64_t offset, const char *path)
{
	struct region all = { .at = low, .size = high - low };

	pthread_mutex_lock(&lock);
	note_gone(low, high, offset, path, &all);
	pthread_mutex_unlock(&lock);
}

void notes_unmaps(uint64_t at, uint64_t size)
{
	struct region r = { .at = at, .size = size };
	bool has_code = false;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < nr_code;) {
		if (code[i].at < at + size && at < code[i].at + code[i].size) {
			has_code = true;
			code[i] = code[--nr_code];
		} else {
			i++;
		}
	}
	if (has_code) {
		maps_read(note_gone, &r);
		nr_calls++;
	}
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
		note_frame(&(struct frame){ pages_name(caller[i].pc), pages_name(caller[i].sp),
					    pages_name(caller[i].bp),
					    pages_name(caller[i + 1].sp) });
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
	json_t *frames = json_array(), *files = json_array(), *locals = json_array();

	pthread_mutex_lock(&lock);
	for (uint64_t i = nr_regions > REGIONS ? nr_regions - REGIONS : 0; i < nr_regions; i++) {
		const struct region *r = &region[i % REGIONS];

		json_array_append_new(regions, json_pack("[I, I, b, b]", (json_int_t)r->at,
							 (json_int_t)r->size, (int)r->shared,
							 (int)r->reserved));
	}
	json_object_set_new(into, "heap",
			    json_pack("[I, I]", (json_int_t)heap.at, (json_int_t)heap.size));
	for (uint32_t i = 0; i < nr_stacks; i++)
		json_array_append_new(stacks, json_pack("[i, I, I]", stack[i].tid,
							(json_int_t)stack[i].pointer,
							(json_int_t)stack[i].local));
	for (uint32_t i = 0; i < nr_parts; i++)
		json_array_append_new(locals, json_pack("[I, I]", (json_int_t)part[i].base,
							(json_int_t)part[i].distance));
	for (uint32_t i = 0; i < nr_frames; i++)
		json_array_append_new(frames,
				      json_pack("[I, I, I, I]", (json_int_t)frame[i].pc,
						(json_int_t)frame[i].sp, (json_int_t)frame[i].bp,
						(json_int_t)frame[i].end));
	for (uint32_t i = 0; i < nr_named; i++)
		json_array_append_new(threads, json_pack("[i, i, i]", (int)named[i].number,
							 named[i].tid, (int)named[i].cpu));
	for (uint32_t i = 0; i < nr_gone; i++)
		if (gone[i].path)
			json_array_append_new(
				files, json_pack("[i, I, I, I, s]", (int)gone[i].call,
						 (json_int_t)gone[i].low, (json_int_t)gone[i].high,
						 (json_int_t)gone[i].offset, gone[i].path));
	pthread_mutex_unlock(&lock);
	json_object_set_new(into, "gone", files);
	json_object_set_new(into, "regions", regions);
	json_object_set_new(into, "stacks", stacks);
	json_object_set_new(into, "locals", locals);
	json_object_set_new(into, "frames", frames);
	json_object_set_new(into, "threads", threads);
}
