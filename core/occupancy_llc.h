/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Finds the last-level cache (LLC) that a process should prefer: adds up its shares of CPUs
 * (occupancy.h) per LLC.
 *
 * Concurrency: a search belongs to its caller. Ordering: none. Context: any. Lines touched: those
 * of the search.
 */
#ifndef SCHEDSHARD_OCCUPANCY_LLC_H
#define SCHEDSHARD_OCCUPANCY_LLC_H

#include "occupancy.h"

/* A search for the LLC in which a process runs most. */
struct occupancy {
	s32 present;	 /* number of the LLC that it prefers now, -1: none */
	s32 llc;	 /* the current LLC, -1: none yet */
	s32 best;	 /* the LLC with the largest sum so far, -1: none */
	u64 sum;	 /* of @llc */
	u64 best_sum;	 /* of @best */
	u64 present_sum; /* of @present */
	u64 total;	 /* of all */
};

/* Start a search; @present: number of the LLC that the process prefers now, -1: none. */
void occupancy_begin(struct occupancy *o, s32 present);

/* Add one CPU's share. All CPUs of one LLC come together. */
void occupancy_cpu(struct occupancy *o, s32 llc, u64 share);

/*
 * The number of the LLC to prefer from now on; -1: none. It is the best one, if its sum is more
 * than twice that of the present one, else the present one. A lower factor would let a process that
 * runs in two LLCs alternate. Of equal sums the first is best. @best, @best_sum, @present_sum and
 * @total are complete afterwards.
 */
s32 occupancy_end(struct occupancy *o);

#endif /* SCHEDSHARD_OCCUPANCY_LLC_H */
