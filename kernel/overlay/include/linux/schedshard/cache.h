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

/* The part in a thread. */
struct sched_cache_task {
	struct callback_head work; /* the scan; points to itself while it is not queued */
	u64 mark;		   /* the sum_exec_runtime that is accounted so far; rq->lock */
};

/*
 * The part in a process, which its threads share: the CPUs that it visited. NULL until a tick finds
 * two threads. A compare-exchange sets it once; exec and the end of the signal_struct remove it.
 */
struct sched_cache_process {
	struct sched_cache __rcu *cache;
};

/* The part in a run queue. On its own line: other CPUs read what the CPU writes often. */
struct sched_cache_rq {
	u64 runtime; /* of all threads, see occupancy.h; written under rq->lock, read by scans */
	u64 next;    /* rq_clock() at which the next epoch begins; rq->lock */
	u32 epoch;   /* the epoch of this CPU; rq->lock */
} ____cacheline_aligned_in_smp;

/* Fork creates a thread, which no other CPU sees yet, as a copy of another one. */
void sched_cache_fork(struct task_struct *p);

/*
 * The process executes another program, about which its runtimes say nothing. Context: current, its
 * only thread.
 */
void sched_cache_exec(void);

/* The last thread of a process is gone. Context: any but NMI. */
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
