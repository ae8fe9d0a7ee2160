/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * cache_scan.h - single-threaded processes that run, sleep and wake each other on the simulated
 * machine. Every CPU accounts their runtime, and its tick lets them scan for their preferred cache.
 *
 *   cache_scan_sched.c  processes on CPUs: first come, first served, woken where they ran
 *   cache_scan_load.c   what the processes do
 *   cache_scan.c        the experiment: set-up, figures
 *
 * Only what the scans touch is in simulated memory. Queues and timers are private to the experiment
 * and cost nothing, because it does not measure the scheduler around a scan.
 */
#ifndef EXPERIMENTS_CACHE_SCAN_H
#define EXPERIMENTS_CACHE_SCAN_H

#include "experiment.h"
#include "scan.h"

struct cs;
struct cs_process;

/**
 * struct cs_load - what a process does
 * @begin: called when the process was woken or has one more job; returns how many picoseconds it
 *	will run, never 0
 * @end: called when its run is over; wakes other processes, and sets its timer
 */
struct cs_load {
	u64 (*begin)(struct cs *cs, struct cs_process *p);
	void (*end)(struct cs *cs, struct cs_process *p);
};

/**
 * struct cs_process - one process
 * @scan: its state in the implementation under test
 * @cache: LLC in which it runs
 * @load: what it does
 * @next: next in a CPU's queue
 * @peer: its partner, for @load
 * @cpu: simulated CPU on which it is or was last
 * @left: picoseconds until its run is over
 * @due: when its timer wakes it; CS_NEVER if the timer is off
 * @jobs: runs requested beyond the one under way
 * @runnable: in a queue, or running
 * @state: private to @load
 */
struct cs_process {
	struct scan_process *scan;
	u32 cache;
	const struct cs_load *load;
	struct cs_process *next;
	struct cs_process *peer;
	u32 cpu;
	u64 left;
	u64 due;
	u32 jobs;
	bool runnable;
	u32 state;
};

#define CS_NEVER UINT64_MAX

/* A simulated CPU: a queue, and the timers of processes that went to sleep on it. */
struct cs_cpu {
	struct cs_process *head, *tail;
	struct cs_process **timer; /* a heap by @due */
	u32 nr_timers, timers_cap;
	u64 next_tick;
	bool busy;
};

/* Counts of all CPUs in the measured window. */
struct cs_counts {
	u64 busy, account_time, scan_time, fork_time; /* picoseconds */
	u64 forks, accounts, scans;
	u32 *lengths; /* of all scans */
	u32 lengths_cap;
};

/**
 * struct cs - one run
 * @run: parameters and report
 * @ops: the implementation under test
 * @machine: the machine's state in @ops
 * @plan: the shard plan
 * @online: by CPU number: is it simulated?
 * @llc_cpus: simulated CPUs, LLC by LLC: an LLC has @llc_first[llc] to @llc_first[llc + 1] - 1;
 *	LLCs without a simulated CPU are not numbered
 * @begin: start of the measured window, picoseconds
 * @end: end of the window, and of the run
 * @forked: by simulated CPU: the process that it forks repeatedly
 * @forks: forks per CPU and tick
 * @elsewhere: probability that a process wakes on another CPU of its cache although its own is idle
 */
struct cs {
	struct run *run;
	const struct scan_ops *ops;
	struct scan_machine *machine;
	const struct shard_plan *plan;
	unsigned long *online;
	struct cs_cpu *cpu;
	u32 *llc_cpus, *llc_first;
	struct cs_process *process;
	u32 nr_cpus, nr_llcs, nr_processes;
	u64 epoch_ps, tick_ps, slice_ps, wake_ps;
	u64 begin, end;
	struct scan_process **forked;
	double elsewhere, forks;
	struct cs_counts counts;
	u64 run_ps, peer_run_ps, pause_ps; /* parameters of the workload */
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

/** cs_sched_body - the body of a simulated CPU: runs processes until the window ends. */
void cs_sched_body(uint32_t cpu, void *arg);

/**
 * cs_sched_wake - simulated CPU @from gives @p one more job.
 */
void cs_sched_wake(struct cs *cs, u32 from, struct cs_process *p);

/** cs_sched_start - let @p sleep on @cpu until @at. Call it before the run. */
void cs_sched_start(struct cs *cs, struct cs_process *p, u32 cpu, u64 at);

/* ---- cache_scan_load.c ---- */

/* Make the processes. Return: 0, or -1 after run_fail(). */
int cs_load(struct cs *cs);

#endif
