/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * shared.h - memory that all processes of a recording share with the model's process (model.c).
 *
 * It lies at the same address in all of them, so that pointers into it are valid everywhere. It
 * contains clocks, streams of items, tables of lines, the CPUs, and the list of processes.
 *
 *   shared_create()    the model's process, first
 *   shared_attach()    every other process; a forked child is attached already
 *
 * Concurrency: a process may be killed between any two instructions, and the others must continue.
 * So only compare-and-exchange fills tables, the word that takes a CPU names its holder (cpus.c),
 * and the one lock is robust.
 */
#ifndef RECORD_SHARED_H
#define RECORD_SHARED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "access.h"
#include "sites.h"
#include "vcpu.h"

#define SHARED_IMAGES  16383u
#define SHARED_OBJECTS 16383u
#define SHARED_NONE    UINT32_MAX
/* A thread that has met no other for long may be this many quanta ahead. */
#define SHARED_APART 64u

/* States of the window: one that a program requests of the model's process, and the actual one. */
enum shared_window { SHARED_SHUT, SHARED_OPEN, SHARED_CLOSED };

/**
 * struct shared_image - a program in a process: a fork or an exec makes one
 * @pid: its process, 0 before there is one; used by any thread
 * @program: number of its program; a forked child has its parent's
 * @parent: the image that made it; SHARED_NONE for the first image
 * @left: its process executes another program; used by any thread
 * @gone: its process has ended or executed another program; the model's process writes it
 * @told: its file of names is written
 */
struct shared_image {
	pid_t pid;
	uint32_t program, parent;
	bool left, gone, told;
};

/* Memory that processes share: a file, or what the kernel shows as one. */
struct shared_object {
	uint64_t device, inode;
	uint32_t state; /* 0: free, 1: being made, 2: there */
};

/**
 * struct shared_cpu - one CPU of the model
 * @held: 0, or 2 * (number of the holder's image + 1); bit 0: others wait; a futex
 * @threads: number of threads assigned to it
 * @node: its node of the machine
 */
struct shared_cpu {
	uint32_t held __attribute__((aligned(64)));
	uint32_t threads, node;
};

/**
 * struct shared - the beginning of the shared memory
 * @wanted: state of the window that the program's marks request; a futex
 * @is: the window's actual state; a futex
 * @coming: announced processes: a fork or an exec has begun
 * @threads: number of threads so far
 * @unseen: blocks that executed while a thread had no CPU
 * @children: processes that are not recorded
 * @executes: the program has executed another one, which is not recorded
 * @lost: accesses to pages that found no place in the table of pages
 * @owned: number of threads, per image and CPU
 */
struct shared {
	uint64_t used, chunks;
	struct plugin_state state;
	struct feed *feed;
	struct vcpu *vcpu;
	struct shared_cpu *cpu;
	struct access_tables tables;
	uint64_t *pages;
	struct sites sites;
	uint16_t *owned;
	uint32_t nr_cpus;
	pthread_mutex_t lock;
	uint32_t wanted, is;
	uint32_t coming, threads, images, programs, objects, children;
	bool executes;
	uint64_t unseen, lost;
	struct shared_image image[SHARED_IMAGES];
	struct shared_object object[SHARED_OBJECTS];
};

extern struct shared *shared;

/**
 * shared_create - Return: the file's descriptor, or -1 with errno set. After it memory.h's
 * functions allocate from the shared memory.
 */
int shared_create(uint32_t nr_cpus);

/** shared_attach - Return: 0, or -1 with errno set. */
int shared_attach(const char *path);

void shared_lock(void);
void shared_unlock(void);

/** shared_image - add an image. Return: its number, or SHARED_NONE: there are too many. */
uint32_t shared_image(pid_t pid, uint32_t parent, uint32_t program);

/** shared_object - return the number of a file, or SHARED_NONE: there are too many. */
uint32_t shared_object(uint64_t device, uint64_t inode);

/* The image whose thread holds a CPU; SHARED_NONE: none does. */
static inline uint32_t shared_holder(const struct shared_cpu *c)
{
	return (__atomic_load_n(&c->held, __ATOMIC_ACQUIRE) >> 1) - 1;
}

static inline uint16_t *shared_owned(uint32_t image, uint32_t cpu)
{
	return &shared->owned[(size_t)image * shared->nr_cpus + cpu];
}

#endif
