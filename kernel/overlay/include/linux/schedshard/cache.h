/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cache-aware scheduling: what it keeps in tasks, processes and run queues. Without it the
 * structures are empty, and so is what they are members of; kernel/sched/cache.c says how they
 * are used.
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
 * struct sched_cache_task - of a thread
 * @work: the scan, on its way to user mode; points to itself while it is not queued
 * @mark: its sum_exec_runtime up to which it is accounted; rq->lock
 */
struct sched_cache_task {
	struct callback_head work;
	u64 mark;
};

/**
 * struct sched_cache_process - of a process, that is of what its threads share
 * @cache: where it ran; NULL until a tick finds that it has two threads. Set once, by
 *	   compare-exchange; taken away by exec and by the end of the signal_struct
 */
struct sched_cache_process {
	struct sched_cache __rcu *cache;
};

/**
 * struct sched_cache_rq - of a run queue
 * @runtime: of all threads, see occupancy.h; written under rq->lock, read by scans
 * @next: rq_clock() at which the next epoch begins; rq->lock
 * @epoch: the epoch of this CPU; rq->lock
 *
 * A line of its own: @runtime is written all the time, and scans come from other CPUs.
 */
struct sched_cache_rq {
	u64 runtime;
	u64 next;
	u32 epoch;
} ____cacheline_aligned_in_smp;

/**
 * sched_cache_fork() - a thread is made, as a copy of another one
 * @p: the new thread, which nobody sees yet
 */
void sched_cache_fork(struct task_struct *p);

/**
 * sched_cache_exec() - the process runs another program from now on
 *
 * What it ran before says nothing about that. Context: current, its only thread.
 */
void sched_cache_exec(void);

/**
 * sched_cache_free() - the last thread of a process is gone
 * @sig: what they shared
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
