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
	uint8_t seen;  /* threads of the owner that saw the last write; bit = index in the core */
	uint32_t touched; /* for engine_access.c: the statistics' epoch */

	uint64_t let_go;       /* of the current request: the handover */
	uint64_t pick_at;      /* the next pick that is scheduled, or NEVER */
	uint64_t first_done;   /* when the owner has used the line once */
	uint64_t home_free_at; /* when the home takes the next request of another group */
	uint32_t random;
	uint16_t home_package;
	bool constant;	   /* see arena_constant() */
	bool at_home;	   /* no core has the line, but the last-level cache of its home does */
	uint32_t far_core; /* core for which the home executed the last operation, or NO_CORE */
	uint32_t gate_group, left_group;
	uint32_t fetching_group; /* the last one that requested a copy from the home ... */
	uint64_t fetched_at;	 /* ... and when it has the copy */
	uint32_t gate_package, left_package;
	struct line_queue *queue; /* made when a second request waits */
	uint64_t *copies;	  /* groups that have a copy; made when first shared */
};

static inline const struct model_core *core_of(const struct coherence *c, uint32_t req)
{
	return &c->model->core[c->model->cpu[req / 2].core];
}

#endif
