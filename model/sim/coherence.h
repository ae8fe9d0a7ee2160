/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * coherence.h - which core has a cache line, which cores wait for the line, and when each gets it.
 *
 * One state machine per line:
 *
 *   submit    a core misses; its request travels to the line's ordering point
 *   pick      the ordering point is free and chooses the next request (EVENT_PICK)
 *   handover  the owner (or the sharers) give the line up; the data leaves
 *   resume    the data arrives (EVENT_RESUME, EVENT_COMMIT)
 *
 * Between pick and handover accesses of the old owner hit. Between handover and the arrival of the
 * data no core's accesses hit. The next pick waits until the transaction is complete, that is,
 * until the data has arrived and the ordering point has its acknowledgement. A handover needs no
 * event: its time is known from the pick on, so the next access after that time performs the
 * handover (coherence_settle()).
 */
#ifndef SIM_COHERENCE_H
#define SIM_COHERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "events.h"
#include "model.h"

#define NO_CORE UINT32_MAX
#define NO_REQ	UINT32_MAX
#define NO_CPU	UINT32_MAX

/* Where a miss found the line, as perf c2c distinguishes it. */
enum source {
	SOURCE_HIT,
	SOURCE_MEMORY,
	SOURCE_CLEAN,	    /* unmodified, in some cache */
	SOURCE_HITM_LOCAL,  /* modified, in another core of this node */
	SOURCE_HITM_REMOTE, /* modified, in another node */
};

/**
 * struct request - one miss under way; two per CPU: [0] for the instruction that waits, [1] for the
 * oldest entry of the store buffer
 * @next: next in the same LLC's queue
 * @line: which line
 * @arrival: when the request reaches the ordering point, picoseconds
 * @granted: when the data arrives; valid from the pick on
 * @op: duration of the first operation after @granted; the core keeps the line until that ends
 * @version: the line's version when the copy was made, see coherence_resume()
 * @parked: threads of the same core (bit = index in model_core.cpu) that wait for this request
 * @write: needs the line exclusively
 * @far: the line's home may execute the operation: see ordering_point.c
 * @active: submitted and not yet resumed
 */
struct request {
	uint32_t next;
	uint32_t line;
	uint64_t arrival, granted, op;
	uint32_t version;
	uint8_t parked;
	bool write, far, active;
	uint8_t source; /* enum source */
};

struct line;

struct copy {
	uint32_t line, version;
};

struct line_table {
	struct line *line;
	uint32_t n;
	uint32_t copy_words;
	struct copy *copy; /* COPY_SLOTS per core */
};

struct coherence {
	const struct model *model;
	uint64_t seed;
	uint64_t reach; /* a CPU that sends no request before t takes no line before t + reach */
	struct line_table lines;
	struct request *req; /* 2 * nr_cpus */
	struct events events;
};

static inline uint32_t request_of(uint32_t cpu, bool store_buffer)
{
	return 2 * cpu + store_buffer;
}

int coherence_init(struct coherence *c, const struct model *model);
void coherence_free(struct coherence *c);

/**
 * coherence_park - is another miss of the same core under way for this line?
 * @cpu: the CPU whose load misses; a write sends its own request
 *
 * If there is one, EVENT_RESUME comes for @cpu right after the first operation of that request.
 * @cpu must then try again.
 */
bool coherence_park(struct coherence *c, uint32_t cpu, uint32_t line);

/**
 * ordering_submit - send a miss.
 * @req: request_of(); not active
 * @write: the CPU needs the only copy of the line
 * @far, @op: see struct request
 *
 * When the data arrives, EVENT_RESUME comes, or EVENT_COMMIT if @req is the store buffer's. Then
 * the caller calls coherence_resume() once.
 */
void ordering_submit(struct coherence *c, uint32_t req, uint32_t line, bool write, bool far,
		     uint64_t op, uint64_t now);

/*
 * The data of @req is there: the core has its copy (unless another core has taken the line
 * meanwhile), and the threads that were parked for it continue.
 */
void coherence_resume(struct coherence *c, uint32_t req);

void ordering_pick(struct coherence *c, uint32_t line, uint64_t now);

#endif
