/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The RT storm: what its workers, its driver and its monitor share.
 *
 *  field of a worker   written by                     read by
 *  ------------------  -----------------------------  -----------------------------------
 *  rounds, due, state  the worker itself              the monitor, the driver
 *  wake                whoever wakes the worker       the worker (futex)
 *  tid, process        the worker, before its start   everybody, after tid is set
 *
 * All of it lies in memory shared by several processes, so that whole processes can be moved
 * between cpusets while their threads go on waking each other.
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
	_Atomic uint64_t rounds; /* how often it came round its loop */
	_Atomic uint64_t due;	 /* when it will have come round if it gets a CPU, ns */
	_Atomic int state;
	_Atomic uint32_t wake;	   /* futex: raised by each waker */
	_Atomic int tid;	   /* 0: not started yet */
	_Atomic uint64_t last_due; /* monitor's: `due` that it has dealt with already */
	int process;		   /* index into storm.pid */
	int pipes[2];		   /* the other way to be woken */
} __attribute__((aligned(64)));

struct storm {
	unsigned int nr_threads, nr_procs, nr_cpus;
	uint64_t seed;
	bool with_deadlines; /* some rounds as SCHED_DEADLINE */
	int cpu[GUEST_CPUS]; /* CPUs that were on line at the start */
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
 * @self: this one's number
 *
 * Context: its own thread. Returns when storm->stop is set.
 */
void storm_worker_run(struct storm *storm, unsigned int self);

/**
 * storm_wake() - wake a worker by its futex, or by its pipe
 * @storm: shared by all
 * @who: the worker
 * @by_pipe: which of the two
 */
void storm_wake(struct storm *storm, unsigned int who, bool by_pipe);

/**
 * storm_check() - look for workers that did not run though they could have
 * @storm: shared by all
 * @limit: how late a worker must be before it is looked at, ns
 *
 * A worker that is late is watched for a second. It is a fault of the kernel when it sleeps on past
 * the end of its timeout, and when it waits for a CPU as an RT task while CPUs that it may use run
 * something of lower priority in nearly every sample. It is none when everything that it may use
 * was busy with its equals and betters: the storm may well ask for more than there is.
 *
 * Return: faults found, each said on stdout with what was seen.
 */
unsigned int storm_check(struct storm *storm, uint64_t limit);

/**
 * storm_describe() - say what the kernel says of a worker
 * @storm: shared by all
 * @who: the worker
 * @what: what is wrong with it
 */
void storm_describe(struct storm *storm, unsigned int who, const char *what);

#endif
