/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * cache_scan.h - processes whose threads run, sleep and wake each other on the simulated machine.
 * Every CPU accounts their runtime, and its tick lets them scan for their preferred cache.
 *
 *   cache_scan_sched.c  threads on CPUs: first come, first served, woken where they ran
 *   cache_scan_load.c   what the threads do: one function per workload
 *   cache_scan_judge.c  the result of a full scan of exact runtimes
 *   cache_scan.c        the experiments: set-up, figures
 *
 * Only what the scans touch is in simulated memory. Queues, timers and the judge's records are
 * private to the experiment and cost nothing, because it does not measure the scheduler around a
 * scan.
 */
#ifndef EXPERIMENTS_CACHE_SCAN_H
#define EXPERIMENTS_CACHE_SCAN_H

#include "experiment.h"
#include "scan.h"

struct cs;
struct cs_thread;

/**
 * struct cs_load - what a thread does
 * @begin: called when the thread was woken, or has one more job; returns how long it will run:
 *	picoseconds, not 0
 * @end: called when its run is over; wakes other threads, and sets the thread's timer
 */
struct cs_load {
	u64 (*begin)(struct cs *cs, struct cs_thread *t);
	void (*end)(struct cs *cs, struct cs_thread *t);
};

/**
 * struct cs_process - one process
 * @scan: the process's state in the implementation under test
 * @first_llc: the first LLC in which it runs
 * @nr_llcs: number of LLCs in which it runs, from @first_llc on
 * @cache: LLC to which its threads go on a wake-up, CS_ANY: each to its previous LLC
 * @home: NUMA node of its memory, -1: unknown
 * @number: its number in the judge's records
 * @move_at: when it moves to another of its LLCs, CS_NEVER: never
 * @first: its first thread
 * @threads: number of threads
 */
struct cs_process {
	struct scan_process *scan;
	u32 first_llc, nr_llcs, cache;
	s32 home;
	u32 number;
	u64 move_at;
	struct cs_thread *first;
	u32 threads;
};

/**
 * struct cs_thread - one thread
 * @process: its process
 * @load: what it does
 * @next: next in a CPU's queue
 * @peer: its partner, for @load
 * @cpu: simulated CPU on which it is or was last
 * @left: picoseconds left of its run
 * @due: when its timer wakes it, CS_NEVER: none
 * @jobs: runs requested beyond the one under way
 * @runnable: in a queue, or running
 * @state: state of @load
 */
struct cs_thread {
	struct cs_process *process;
	const struct cs_load *load;
	struct cs_thread *next;
	struct cs_thread *peer;
	u32 cpu;
	u64 left;
	u64 due;
	u32 jobs;
	bool runnable;
	u32 state;
};

#define CS_NEVER UINT64_MAX
#define CS_ANY	 UINT32_MAX

/* A simulated CPU: a queue, and the timers of threads that went to sleep on it. */
struct cs_cpu {
	struct cs_thread *head, *tail;
	struct cs_thread **timer; /* a heap by @due */
	u32 nr_timers, timers_cap;
	u64 next_tick;
	bool busy;
};

/* Counts of all CPUs in the measured window. */
struct cs_counts {
	u64 busy, account_time, scan_time, fork_time; /* picoseconds */
	u64 forks, accounts, dropped, scans, agreed, agreed_fresh;
	u32 *lengths; /* of all scans */
	u32 lengths_cap;
	double worst_margin, worst_missed, worst_missed_runtime;
};

struct cs_judge;

/**
 * struct cs - one run
 * @run: parameters and report
 * @ops: the implementation under test
 * @machine: its state
 * @plan: the plan
 * @online: by CPU number: is it simulated?
 * @llc: by simulated CPU: its LLC; LLCs without a simulated CPU are not numbered
 * @llc_cpus: simulated CPUs, LLC by LLC: an LLC has @llc_first[llc] to @llc_first[llc + 1] - 1
 * @begin: start of the measured window, picoseconds
 * @end: end of the window, and of the run
 * @forked: by simulated CPU: the process that it forks repeatedly
 * @forks: forks per CPU and tick
 * @elsewhere: probability that a thread wakes on another CPU of its cache although its own is idle
 */
struct cs {
	struct run *run;
	const struct scan_ops *ops;
	struct scan_machine *machine;
	const struct shard_plan *plan;
	unsigned long *online;
	struct cs_cpu *cpu;
	u32 *llc, *llc_cpus, *llc_first;
	struct cs_process *process;
	struct cs_thread *thread;
	u32 nr_cpus, nr_llcs, nr_processes, nr_threads;
	u64 epoch_ps, tick_ps, slice_ps, wake_ps;
	u64 begin, end;
	s32 timeout;
	struct scan_process **forked;
	double elsewhere, forks;
	struct cs_counts counts;
	struct cs_judge *judge;
	u64 run_ps, peer_run_ps, pause_ps, stay_ps; /* parameters of the workload */
};

static inline u32 cs_epoch(const struct cs *cs, u64 now)
{
	return (u32)(now / cs->epoch_ps) + 1;
}

static inline bool cs_measured(const struct cs *cs, u64 now)
{
	return now >= cs->begin && now < cs->end;
}

/* ---- cache_scan_sched.c ---- */

/** cs_sched_body - the body of a simulated CPU: runs threads until the window ends. */
void cs_sched_body(uint32_t cpu, void *arg);

/**
 * cs_sched_wake - simulated CPU @from gives @t one more job.
 */
void cs_sched_wake(struct cs *cs, u32 from, struct cs_thread *t);

/** cs_sched_start - let @t sleep on @cpu until @at. Call it before the run. */
void cs_sched_start(struct cs *cs, struct cs_thread *t, u32 cpu, u64 at);

/* ---- cache_scan_load.c ---- */

/* Make the processes and threads; -1 after run_fail(). */
int cs_load_redis(struct cs *cs);
int cs_load_hackbench(struct cs *cs);
int cs_load_threads(struct cs *cs);
int cs_load_migrate(struct cs *cs);

/* ---- cache_scan_judge.c ---- */

struct cs_judge *cs_judge_new(const struct cs *cs);
void cs_judge_free(struct cs_judge *j);

/** cs_judge_account - account the same runtime, exactly. */
void cs_judge_account(struct cs_judge *j, u32 process, u32 cpu_number, u32 epoch, u64 ns);

/**
 * struct cs_verdict - comparison of a scan with that of the judge, from the same preference
 * @agrees: both prefer the same cache
 * @agrees_fresh: both would if the judge dropped runtimes older than the timeout
 * @margin: distance of the judge's decision from the opposite one, as a part of the process's
 *	occupancy
 * @missed: part of the process's occupancy that the scan did not see
 * @missed_runtime: the same of its decayed runtime
 */
struct cs_verdict {
	bool agrees, agrees_fresh;
	double margin, missed, missed_runtime;
};

struct cs_verdict cs_judge_scan(const struct cs_judge *j, u32 process, u32 epoch, s32 timeout,
				const struct scan_result *result);

#endif
