/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * sim_futex.h - simulated threads, one per CPU, that sleep until another thread wakes them. The
 * costs are those of Linux's futex and of the scheduler beneath it: time, and accesses to lines.
 *
 *        | sleep | wake | begin
 *  sleep | ok    | ok   | -
 *  wake  | ok    | ok   | -
 *  begin | -     | -    | -
 *
 *   ok: at once;  -: the caller excludes
 */
#ifndef EXPERIMENTS_SIM_FUTEX_H
#define EXPERIMENTS_SIM_FUTEX_H

#include "port.h"

/* Costs in picoseconds, without the accesses to lines that threads share. */
struct sim_futex_costs {
	u64 syscall;		      /* into the kernel and back */
	u64 futex_wait, futex_wake;   /* if the value differs; if there is no waiter */
	u64 schedule, context_switch; /* from a thread to idle, and back */
	u64 wake, queue;	      /* try_to_wake_up(); a task onto a queue or off it */
	u64 ipi_send, ipi_travel;     /* an interrupt */
	u64 irq, idle_exit;	      /* entry and exit of an interrupt; until an idle CPU runs */
};

/**
 * sim_futex_begin - start with no sleeping thread.
 * @nr_threads: threads 0 to nr_threads - 1, each on the simulated CPU of its number
 * @nr_words: maximum number of words on which threads sleep
 * @node: by thread: home of the thread's lines
 *
 * Call it before each simulation whose primitive sleeps. The lines of the previous simulation are
 * gone with its arena.
 */
void sim_futex_begin(u32 nr_threads, u32 nr_words, const int *node,
		     const struct sim_futex_costs *costs);

/** sim_futex_end - free all state. */
void sim_futex_end(void);

#endif
