/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * user.h - threads of a program, and the CPUs of the model that they run on.
 *
 * A guest CPU of the plugin (vcpu.h) is a place for threads here: its instructions, its stream and
 * its clock are those of whoever holds it. A thread holds its CPU while it executes, and gives it
 * back while it waits in the kernel, so that threads that share one take turns.
 *
 * Concurrency: a thread's own fields are used by itself; those marked "any" by any thread, with
 * atomics; the tables of calls.c and heap.c have a lock each.
 */
#ifndef RECORD_USER_H
#define RECORD_USER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vcpu.h"

#define USER_THREADS 4096u
#define USER_NO_CPU  UINT32_MAX

/**
 * struct user_thread - one thread of the program
 * @v: the CPU that it holds; NULL: it holds none, and what it does is not seen
 * @cpu: the CPU that is its own, USER_NO_CPU before its first instruction; any
 * @begun: it has executed something
 * @hidden: it is in the recorder's library
 * @waits: it is in a system call that may wait
 * @moved: its CPU has changed since it took one; any
 * @number: in order of creation, from 0
 * @turn: instructions of its CPU at which another thread may have it
 * @sleep_until: of a sleep: the model's time at which it ends; 0: it is none
 */
struct user_thread {
	struct vcpu *v;
	uint32_t cpu, number;
	pid_t tid;
	bool begun, hidden, waits, moved;
	uint64_t turn, sleep_until;
};

/**
 * struct user - the whole program
 * @thread: by the emulator's number
 * @begun: threads so far; any
 * @dead: this process is a child that is not recorded, or nothing is recorded any more; any
 * @readable: the program's addresses are the emulator's
 * @children: processes that were forked; any
 * @unseen: blocks that were executed while a thread had no CPU; any
 */
struct user {
	struct user_thread thread[USER_THREADS];
	uint32_t begun;
	bool dead, readable;
	uint64_t unseen;
	uint32_t children;
};

extern struct user user;

/* ---- cpus.c ---- */

int cpus_init(void);

/** cpus_enter - have the thread hold its CPU; waits for it, but not for ever. */
bool cpus_enter(struct user_thread *t);

/** cpus_leave - the thread waits in the kernel, or ends. */
void cpus_leave(struct user_thread *t);

/** cpus_take_turns - let another thread have the CPU, if one has waited long enough. */
void cpus_take_turns(struct user_thread *t);

/** cpus_forget - the thread has ended: its CPU is free for a new one. */
void cpus_forget(struct user_thread *t);

/** cpus_bind - the CPUs of the machine on which a thread may run from now on. */
void cpus_bind(struct user_thread *t, const uint64_t *mask, uint32_t words);

/* ---- calls.c ---- */

void calls_begin(struct user_thread *t, int64_t number, const uint64_t *arg);
void calls_end(struct user_thread *t, int64_t number, int64_t result);

/** calls_json - set "stacks" and "regions" in @into. */
void calls_json(json_t *into);

/** calls_thread_json - tell of a thread, while it lives. */
void calls_thread(const struct user_thread *t);

/* ---- heap.c ---- */

void heap_site(uint64_t number, const uint64_t *frame, uint32_t n);
void heap_alloc(uint64_t at, uint64_t size, uint64_t site, uint64_t element);
void heap_free(uint64_t at);

/** heap_json - set "sites" and "objects" in @into: objects with lines that were contended. */
void heap_json(json_t *into);

/* ---- user.c ---- */

/** user_finish - nothing is recorded any more: write what there is. Any thread; once. */
void user_finish(const char *why);

/** user_read - copy from the program's memory. Return: false when it is not there. */
bool user_read(void *into, uint64_t from, size_t size);

#endif
