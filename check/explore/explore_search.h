/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * explore_search.h - searches over the executions of a case, and their results.
 *
 *   search  | visits                                   | file
 *   --------+------------------------------------------+-------------------
 *   states  | every reachable state once               | explore_states.c
 *   brute   | every execution                          | explore_states.c
 *
 * Both searches find every possible outcome and every violation; the tests compare their results.
 */
#ifndef SIM_EXPLORE_SEARCH_H
#define SIM_EXPLORE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "explore_machine.h"

#define X_NO_BOUND UINT32_MAX

enum x_search { X_SEARCH_STATES, X_SEARCH_BRUTE };

struct x_options {
	enum x_search search;
	uint32_t preemptions;	 /* at most this many, or X_NO_BOUND */
	uint64_t max_executions; /* stop after this many; 0: no limit */
};

/* An outcome: the results of one or more executions. */
struct x_outcome {
	uint64_t results[EXPLORE_RESULTS];
	uint64_t executions; /* with this outcome */
};

/* A failing execution, up to the step at which it failed. */
struct x_schedule {
	struct x_failure failure;
	uint32_t nr_events;
	uint32_t preemptions;
	struct x_event events[X_MAX_STEPS];
};

struct x_stats {
	uint64_t executions;  /* executions that ran to the end */
	uint64_t cut;	      /* executions ended early as redundant */
	uint64_t transitions; /* steps performed, including replays */
	uint64_t states;      /* distinct states, states search only */
	uint64_t failing;     /* executions with a violation */
	uint32_t max_steps;   /* steps of the longest execution */
	bool complete;	      /* nothing omitted, except by the preemption bound */
	struct x_outcome *outcomes;
	uint32_t nr_outcomes;
	struct x_schedule *shortest; /* failing: fewest preemptions, then fewest steps; or NULL */
};

/* Explore the case that was passed to x_machine_init(). */
void x_search_states(const struct x_options *o, struct x_stats *s);

/* Free what the searches allocated in @s. */
void x_stats_free(struct x_stats *s);

/**
 * x_note_end - count an execution that has ended, and keep its outcome or its failure.
 * @events: its steps
 * @nr_events: how many
 *
 * If all programs have ended, the caller runs the final check first.
 */
void x_note_end(struct x_stats *s, const struct x_event *events, uint32_t nr_events);

/* Count an execution that the search ends early as redundant, with a data race found in it. */
void x_note_cut(struct x_stats *s, const struct x_event *events, uint32_t nr_events);

/* The number of switches away from a program that had not ended, plus the old values read. */
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

/*
 * Return a process that can go first, because no other process can observe or affect its next step;
 * -1: there is none.
 */
static inline int x_local_step(uint32_t enabled)
{
	for (unsigned int c = 0; c < EXPLORE_MAX_CPUS; c++) {
		if ((enabled >> c & 1) && x_op_touch(x_pending(c)) == X_TOUCH_NONE)
			return (int)c;
	}
	return -1;
}

#endif
