/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * line.h - the state of a line. coherence.c and ordering_point.c change it, coherence_hit.h reads
 * it for the engine, and line_queue.c manages the requests that wait for it.
 */
#ifndef SIM_LINE_H
#define SIM_LINE_H

#include "coherence.h"

struct line_queue;

/*
 * The home's part of a line's state.
 * @free_at: when the home takes the next request of another group
 * @fetching_group, @fetched_at: the last group that requested a copy, and when the copy arrives
 * @far_core: core for which the home executed the last operation, or NO_CORE
 * @has_line: no core has the line, but the home's last-level cache does
 */
struct line_home {
	uint64_t free_at, fetched_at;
	uint32_t fetching_group, far_core;
	uint16_t package;
	bool has_line;
};

/* Which group and package have the turn (line_queue.c), and how many writes each has left. */
struct line_turn {
	uint32_t group, group_left, package, package_left;
};

/*
 * The fields that a hit reads come first, in one cache line of the host. Fields that only
 * transactions need come last.
 */
struct line {
	_Alignas(64) uint64_t have_at; /* from this time on the owner has the data */
	uint64_t lose_at;	       /* the owner gives it up at this time; NEVER before a pick */
	uint64_t free_at;	       /* when the ordering point takes the next request */
	uint32_t owner;		       /* core, or NO_CORE */
	uint32_t version;
	uint32_t writer;  /* thread of the owner that wrote it last, or NO_CPU */
	uint32_t pending; /* number of requests that wait */
	uint32_t current; /* request between pick and handover, or NO_REQ */
	uint32_t solo;	  /* the only waiting request, while queue is NULL */
	bool known, dirty, shared;
	bool plain;    /* a sibling took over the line by a plain store */
	bool siblings; /* two threads of one core have used it at the same time */
	bool settled;  /* constant and shared: each core with a copy keeps it */
	bool stayed;   /* at the last handover, for a locked operation of the same core */
	uint8_t seen;  /* threads of the owner that saw the last write; bit = index in the core */
	uint32_t touched; /* for engine_access.c: the statistics' epoch */

	uint64_t let_go;     /* when the owner hands the line to the current request */
	uint64_t pick_at;    /* the next pick that is scheduled, or NEVER */
	uint64_t first_done; /* when the owner has used the line once */
	struct line_home home;
	struct line_turn turn;
	uint32_t random;
	bool constant;		  /* see arena_constant() */
	struct line_queue *queue; /* made when a second request waits */
	uint64_t *copies;	  /* groups that have a copy; made when first shared */
};

static inline const struct model_core *core_of(const struct coherence *c, uint32_t req)
{
	return &c->model->core[c->model->cpu[req / 2].core];
}

#endif
