/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * storm.h - what the workers, the driver and the monitor of the RT storm share.
 *
 *  field of a worker   written by                     read by
 *  ------------------  -----------------------------  -----------------------------------
 *  rounds, due, state  the worker itself              the monitor, the driver
 *  wake                its wakers                     the worker (futex)
 *  tid, process        the worker, before its start   all, after tid is set
 *
 * Several processes share this memory, so that whole processes can move between cpusets while their
 * threads still wake each other.
 */
#ifndef STORM_H
#define STORM_H

#include "guest.h"

#include <pthread.h>
#include <stdatomic.h>

#define STORM_THREADS 1024
#define STORM_PROCS   8
#define STORM_LOCKS   16
#define MSEC	      1000000ull
#define SEC	      1000000000ull

enum storm_state { STORM_STARTING, STORM_SLEEPS, STORM_WORKS, STORM_WAITS_LOCK, STORM_ENDED };

struct storm_worker {
	_Atomic uint64_t rounds; /* completed rounds of its loop */
	_Atomic uint64_t due;	 /* when it will complete a round if it gets a CPU, ns */
	_Atomic int state;
	_Atomic uint32_t wake;	   /* futex: raised by each waker */
	_Atomic int tid;	   /* 0: not started yet */
	_Atomic uint64_t last_due; /* monitor's: the last `due` that it has judged */
	int process;		   /* index into storm.pid */
	int pipes[2];		   /* wakes the thread, like @wake */
} __attribute__((aligned(64)));

struct storm {
	unsigned int nr_threads, nr_procs, nr_cpus;
	uint64_t seed;
	bool with_deadlines; /* threads do some rounds as SCHED_DEADLINE */
	int cpu[GUEST_CPUS]; /* CPUs that were online at the start */
	_Atomic bool stop;
	_Atomic uint32_t go; /* futex: raised when all workers are there */
	_Atomic unsigned int started;
	_Atomic unsigned int pace; /* sleeps are this many times as long, 1 and up */
	_Atomic uint64_t wakes, moves, levels, refused, deadlines, forgotten;
	pid_t pid[STORM_PROCS];
	pthread_mutex_t lock[STORM_LOCKS];
	struct storm_worker worker[STORM_THREADS];
};

/**
 * storm_worker_run() - the life of one worker
 * @storm: shared by all
 * @self: the worker's number
 *
 * Context: its own thread. Returns when storm->stop is set.
 */
void storm_worker_run(struct storm *storm, unsigned int self);

/**
 * storm_wake() - wake a worker by its futex, or by its pipe
 * @storm: shared by all
 * @who: the worker
 * @by_pipe: true: by its pipe
 */
void storm_wake(struct storm *storm, unsigned int who, bool by_pipe);

/**
 * storm_check() - look for workers that did not run though they could have
 * @storm: shared by all
 * @limit: how late a worker must be before it is sampled, ns
 *
 * The monitor watches a late worker for a second. It is a fault of the kernel when the worker
 * sleeps past the end of its timeout. It is also a fault when the worker waits as an RT task while
 * CPUs that it may use run something of lower priority. Nearly every sample must show that. It is
 * not a fault if tasks of its priority or higher kept all these CPUs busy, because the storm may
 * have more work than the machine can do.
 *
 * Return: the number of faults, each printed on stdout with what was seen.
 */
unsigned int storm_check(struct storm *storm, uint64_t limit);

/**
 * storm_describe() - print the kernel's reports about a worker
 * @storm: shared by all
 * @who: the worker
 * @what: its fault
 */
void storm_describe(struct storm *storm, unsigned int who, const char *what);

#endif
