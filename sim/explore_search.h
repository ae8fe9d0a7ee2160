/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * explore_search.h - walks over the executions of a case, and what they find.
 *
 *   search  | visits                                   | file
 *   --------+------------------------------------------+-------------------
 *   dpor    | at least one execution of every class of | explore_dpor.c
 *           | equivalent executions                    |
 *   states  | every reachable state once               | explore_states.c
 *   brute   | every execution                          | explore_states.c
 *
 * All three see every outcome and every violation that exists; the tests hold them
 * against each other. Only states and brute can bound the number of preemptions.
 */
#ifndef SIM_EXPLORE_SEARCH_H
#define SIM_EXPLORE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "explore_machine.h"

#define X_NO_BOUND UINT32_MAX

enum x_search { X_SEARCH_DPOR, X_SEARCH_STATES, X_SEARCH_BRUTE };

struct x_options {
	enum x_search search;
	uint32_t preemptions;	 /* at most so many, or X_NO_BOUND */
	uint64_t max_executions; /* stop after so many; 0: no limit */
};

/* One way that executions ended, told by its results. */
struct x_outcome {
	uint64_t results[EXPLORE_RESULTS];
	uint64_t executions; /* that ended so */
};

/* A failing execution, up to the step at which it failed. */
struct x_schedule {
	struct x_failure failure;
	uint32_t nr_events;
	uint32_t preemptions;
	struct x_event events[X_MAX_STEPS];
};

struct x_stats {
	uint64_t executions;  /* that ran to the end */
	uint64_t cut;	      /* given up early, as redundant */
	uint64_t transitions; /* steps performed, replays included */
	uint64_t states;      /* distinct states, states search only */
	uint64_t failing;     /* executions with a violation */
	uint32_t max_steps;   /* of the longest execution */
	bool complete;	      /* nothing was left out, but for the preemption bound */
	struct x_outcome *outcomes;
	uint32_t nr_outcomes;
	struct x_schedule
		*shortest; /* of the failing ones: fewest preemptions, then steps; or NULL */
};

/* Each explores the case that x_machine_init() was given. */
void x_search_dpor(const struct x_options *o, struct x_stats *s);
void x_search_states(const struct x_options *o, struct x_stats *s);

/* Release what the searches put into @s. */
void x_stats_free(struct x_stats *s);

/**
 * x_note_end - an execution is over: count it, keep its outcome or its failure.
 * @events: what happened
 * @nr_events: how many
 *
 * The final check has been run by the caller, when all programs had ended.
 */
void x_note_end(struct x_stats *s, const struct x_event *events, uint32_t nr_events);

/* An execution is given up as redundant; a data race found on the way is kept all the same. */
void x_note_cut(struct x_stats *s, const struct x_event *events, uint32_t nr_events);

/* How often a program was left for another CPU's before it had ended, or read an old value. */
uint32_t x_count_preemptions(const struct x_event *events, uint32_t nr_events);

/* May the order of these two operations of different CPUs matter? */
static inline bool x_touches_conflict(uint64_t a, uint32_t as, enum x_touch at, uint64_t b,
				      uint32_t bs, enum x_touch bt)
{
	if (at == X_TOUCH_NONE || bt == X_TOUCH_NONE)
		return false;
	if (at == X_TOUCH_READ && bt == X_TOUCH_READ)
		return false;
	return a < b + bs && b < a + as;
}

/* Failure text for two conflicting accesses of which one is not atomic. */
void x_fail_race(uint64_t addr, unsigned int cpu_a, unsigned int cpu_b);

/* A step that no other process can notice or hinder; when there is one it goes first. */
static inline int x_local_step(uint32_t enabled)
{
	for (unsigned int c = 0; c < EXPLORE_MAX_CPUS; c++) {
		if ((enabled >> c & 1) && x_op_touch(x_pending(c)) == X_TOUCH_NONE)
			return (int)c;
	}
	return -1;
}

#endif
