/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * user.h - threads of a program, and the CPUs of the model on which they run.
 *
 * Here a guest CPU of the plugin (vcpu.h) is a slot that threads hold in turn: its instructions,
 * stream and clock are those of its holder. A thread holds its CPU while it executes, and releases
 * it while it waits in the kernel. So threads that share a CPU take turns.
 *
 * Concurrency: only a thread itself uses its fields. Those marked "any thread" are exceptions, and
 * atomic. The tables of notes.c and heap.c have a lock each.
 */
#ifndef RECORD_USER_H
#define RECORD_USER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "api.h"
#include "pages.h"
#include "protocol.h"
#include "vcpu.h"

#define USER_THREADS 4096u
/* Words of a mask of CPUs, for numbers below 4,096. */
#define USER_MASK_WORDS 64u
#define USER_NO_CPU	UINT32_MAX

/**
 * struct user_thread - one thread of the program
 * @v: the CPU that it holds; NULL: none, and its actions are not recorded
 * @seen: as @v, but NULL while the thread is hidden
 * @held: number of the CPU that it holds
 * @cpu: the CPU assigned to it, USER_NO_CPU before its first instruction; used by any thread
 * @begun: it has executed an instruction
 * @hidden: it is in the recorder's library
 * @waits: it is in a system call that may wait
 * @moved: its assigned CPU has changed since it took one; used by any thread
 * @number: in order of creation, from 0
 * @turn: instructions of its CPU at which another thread may have it
 * @sleep_until: the model's time at which its sleep ends; 0: it does not sleep
 * @asked: the CPUs to which the program bound it; NULL: it may run on all
 * @tlb: its last pages
 */
struct user_thread {
	struct vcpu *v, *seen;
	uint32_t cpu, number, held;
	pid_t tid;
	bool begun, hidden, waits, moved;
	uint64_t turn, sleep_until;
	uint64_t *asked;
	struct pages_tlb tlb;
};

/**
 * struct user - this process
 * @thread: by the emulator's number
 * @image: its number (shared.h); a forked child has its own
 * @path: the program's file, as the emulator got it
 * @meta: prefix of the name of the file that it writes at its end
 * @view: the folder with the machine's files, which the emulator prefers to the host's
 * @by_marks: marks in the program open and close the window
 * @told: it has written its file at @meta; used by any thread
 * @dead: it is an unrecorded child, or the recording has ended; used by any thread
 * @readable: the program's addresses are the emulator's
 * @follow: record children too
 * @own_low: start of the code of the library inside the program (preload.c), which is ignored
 * @own_high: end of that code; used by any thread
 * @creator: the CPU that made the last thread or child, and its instructions then; any thread
 * @arrived: number and CPU that the first thread keeps because a recorded thread executed this
 *	program; no CPU if none did, or if the thread already has them
 */
struct user {
	struct user_thread thread[USER_THREADS];
	uint32_t image;
	char *path;
	const char *meta, *view;
	bool by_marks, told, dead, readable, follow;
	uint64_t own_low, own_high;
	struct {
		uint32_t cpu;
		uint64_t instr;
	} creator;
	struct {
		uint32_t number, cpu;
	} arrived;
};

/* Hidden: otherwise each access loads its address from a table. */
extern struct user user __attribute__((visibility("hidden")));

/* The program's thread whose system call this thread of the emulator performs now. */
extern _Thread_local struct user_thread *user_current __attribute__((visibility("hidden")));

/* ---- cpus.c ---- */

/** cpus_enter - take the thread's CPU. Return: false if the bounded wait for it has timed out. */
bool cpus_enter(struct user_thread *t);

/** cpus_leave - release the CPU of a thread that waits in the kernel, or ends. */
void cpus_leave(struct user_thread *t);

/** cpus_take_turns - let others have the CPU, if one waits or this thread moves to another CPU. */
void cpus_take_turns(struct user_thread *t);

/**
 * cpus_forget - the thread has ended: a new thread may use its CPU.
 */
void cpus_forget(struct user_thread *t);

/**
 * cpus_carry - the thread executes a program that keeps its CPU
 * @over: true to hand its CPU over to the new program, false to take it back because that failed
 */
void cpus_carry(const struct user_thread *t, bool over);

/**
 * cpus_fork - the process is new, and its threads have no CPUs yet.
 */
void cpus_fork(void);

/** cpus_bind - set the CPUs of the machine on which a thread may run from now on. */
void cpus_bind(struct user_thread *t, const uint64_t *mask, uint32_t words);

/* ---- calls.c ---- */

void calls_begin(struct user_thread *t, int64_t number, const uint64_t *arg);
void calls_end(struct user_thread *t, int64_t number, int64_t result);

/* ---- notes.c ---- */

/**
 * notes_thread - record a thread; call it while the thread lives.
 */
void notes_thread(const struct user_thread *t);

/* notes_region - record a mapping; @reserved: it cannot be accessed yet and takes no memory */
void notes_region(uint64_t at, uint64_t size, bool shared, bool reserved);
void notes_break(uint64_t at); /* the end of the memory that brk() gives, now */
/*
 * notes_code - remember that this range maps code of a file. notes_unmaps - call before a range is
 * unmapped: if it contains such code, keep the names of the files that are mapped there.
 */
void notes_code(uint64_t at, uint64_t size);
void notes_unmaps(uint64_t at, uint64_t size);
/* notes_file - keep the name of a mapped file before the root folder changes. */
void notes_file(uint64_t low, uint64_t high, uint64_t offset, const char *path);
/*
 * notes_stack - record a thread's first stack pointer, or 0, and the pointer to its thread-local
 * memory; only the first call for a thread counts
 */
void notes_stack(pid_t tid, uint64_t pointer, uint64_t local);
/* notes_locals - record a file's part of thread-local memory, as preload_locals() gives it. */
void notes_locals(uint64_t base, uint64_t distance);
/* notes_frames - record a thread's frames, innermost first. Each ends at the sp of the next one. */
void notes_frames(const struct protocol_frame *frame, uint32_t n);

/* Around a fork; the child does not have its parent's other threads. */
void notes_before_fork(void);
void notes_after_fork(bool in_child);

/** notes_json - set "threads", "stacks", "locals", "frames" and "regions" in @into. */
void notes_json(json_t *into);

/* ---- heap.c ---- */

void heap_site(uint64_t number, const uint64_t *frame, uint32_t n);
void heap_alloc(uint64_t at, uint64_t size, uint64_t site, uint64_t element, uint64_t alignment);
void heap_free(uint64_t at);

void heap_before_fork(void);
void heap_after_fork(void);

/**
 * heap_json - set "sites" and "objects" in @into: objects with contended lines.
 */
void heap_json(json_t *into);

/* ---- code.c ---- */

/** code_translated - the emulator has translated a block: have it report what the block does. */
void code_translated(struct qemu_plugin_tb *tb);

/* ---- forks.c ---- */

/** forks_watch - follow this process's forks from now on. Return: 0, or an error number. */
int forks_watch(void);

/** forks_ended - the thread's system call has ended; it may have been a failed fork. */
void forks_ended(int64_t result);

/* ---- user.c ---- */

/**
 * user_find_path - find the program's path, this process's argument behind those of the plugin
 *
 * The emulator has a function for that, but from 10.0 on its builds for programs lack it.
 */
bool user_find_path(void);

/** user_note_own - remember the emulator's mappings. Call it before the program is loaded. */
void user_note_own(void);

/** user_read - copy from the program's memory. Return: false if it cannot be read. */
bool user_read(void *into, uint64_t from, size_t size);

/** user_new_root - the root folder is about to change: keep what user_finish() needs. */
void user_new_root(void);

/**
 * user_finish - the process ends: write its files. Any thread; once.
 */
void user_finish(const char *why);

/**
 * user_leave, user_stay - the calling thread executes another program, or cannot after all.
 */
void user_leave(struct user_thread *t);
void user_stay(void);

/* ---- exec.c ---- */

/**
 * exec_init - prepare the arguments for emulators that exec_follow() starts.
 * @view: the folder with the machine's files
 */
void exec_init(const char *watch, const char *meta, const char *file, const char *view,
	       bool by_marks);

/**
 * exec_follow - execute a program in a new emulator. Returns if that fails: then the kernel tries.
 */
void exec_follow(struct user_thread *t, int64_t number, const uint64_t *arg);

#endif
