/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * sim_futex.h - simulated threads, one per CPU, that sleep until another one wakes them. The costs
 * are those of Linux's futex and of the scheduler beneath it: time, and accesses to lines.
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

/* Picoseconds, without the accesses to lines that threads share. */
struct sim_futex_costs {
	u64 syscall;		      /* into the kernel and back */
	u64 futex_wait, futex_wake;   /* that finds another word, and nobody */
	u64 schedule, context_switch; /* from a thread to idle, and the other way */
	u64 wake, queue;	      /* try_to_wake_up(); a task onto a queue or off it */
	u64 ipi_send, ipi_travel;     /* an interrupt */
	u64 irq, idle_exit;	      /* its entry and exit; until an idle CPU runs */
};

/**
 * sim_futex_begin - no thread sleeps.
 * @nr_threads: threads 0 to nr_threads - 1, each on the simulated CPU of its number
 * @nr_words: at most so many words are ever slept at
 * @node: by thread: home of its own lines
 *
 * Before each simulation whose primitive sleeps. The lines of the simulation before are gone with
 * its arena.
 */
void sim_futex_begin(u32 nr_threads, u32 nr_words, const int *node,
		     const struct sim_futex_costs *costs);

/** sim_futex_end - forget everything. */
void sim_futex_end(void);

#endif
