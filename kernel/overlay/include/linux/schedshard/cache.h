/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cache-aware scheduling: its state in tasks, processes and run queues. Without it the structures
 * are empty. kernel/sched/cache.c explains their use.
 */
#ifndef _LINUX_SCHEDSHARD_CACHE_H
#define _LINUX_SCHEDSHARD_CACHE_H

#include <linux/cache.h>
#include <linux/types.h>

struct sched_cache;
struct signal_struct;
struct task_struct;

#ifdef CONFIG_SCHED_CACHE_SHARD

/**
 * struct sched_cache_task - the part in a thread
 * @work: the scan, run on the return to user mode; points to itself while it is not queued
 * @mark: the sum_exec_runtime that is accounted so far; rq->lock
 */
struct sched_cache_task {
	struct callback_head work;
	u64 mark;
};

/**
 * struct sched_cache_process - the part in a process, which its threads share
 * @cache: the CPUs that it visited; NULL until a tick finds two threads. A compare-exchange sets it
 *	once; exec and the end of the signal_struct remove it
 */
struct sched_cache_process {
	struct sched_cache __rcu *cache;
};

/**
 * struct sched_cache_rq - the part in a run queue
 * @runtime: of all threads, see occupancy.h; written under rq->lock, read by scans
 * @next: rq_clock() at which the next epoch begins; rq->lock
 * @epoch: the epoch of this CPU; rq->lock
 *
 * On its own line: the CPU writes @runtime often, and scans of other CPUs read it.
 */
struct sched_cache_rq {
	u64 runtime;
	u64 next;
	u32 epoch;
} ____cacheline_aligned_in_smp;

/**
 * sched_cache_fork() - fork creates a thread as a copy of another one
 * @p: the new thread, which no other CPU sees yet
 */
void sched_cache_fork(struct task_struct *p);

/**
 * sched_cache_exec() - the process executes another program from now on
 *
 * The runtimes of the old program say nothing about the new one. Context: current, its only thread.
 */
void sched_cache_exec(void);

/**
 * sched_cache_free() - the last thread of a process is gone
 * @sig: the state that they shared
 *
 * Context: any but NMI.
 */
void sched_cache_free(struct signal_struct *sig);

#else

struct sched_cache_task {
};

struct sched_cache_process {
};

struct sched_cache_rq {
};

static inline void sched_cache_fork(struct task_struct *p) { }
static inline void sched_cache_exec(void) { }
static inline void sched_cache_free(struct signal_struct *sig) { }

#endif /* CONFIG_SCHED_CACHE_SHARD */

#endif /* _LINUX_SCHEDSHARD_CACHE_H */
