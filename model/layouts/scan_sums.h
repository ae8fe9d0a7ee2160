/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * scan_sums.h - finds the last-level cache (LLC) that a process should prefer, by the sum of its
 * shares of CPUs per LLC.
 *
 * A search belongs to its caller. Ordering: none.
 */
#ifndef LAYOUTS_SCAN_SUMS_H
#define LAYOUTS_SCAN_SUMS_H

#include "port.h"

/* A CPU's whole capacity: a share is a part of it. */
#define SCAN_SCALE (1u << 20)

/* A search for the LLC in which a process runs most. */
struct scan_sums {
	s32 present;	 /* the LLC that the process prefers now, -1: none */
	s32 llc;	 /* the current LLC, -1: none yet */
	s32 best;	 /* the LLC with the largest sum so far, -1: none */
	u64 sum;	 /* sum of @llc's shares so far */
	u64 best_sum;	 /* sum of @best's shares */
	u64 present_sum; /* sum of @present's shares */
};

/* Start a search; @present: number of the LLC that the process prefers now, or -1. */
void scan_sums_begin(struct scan_sums *s, s32 present);

/* Add one CPU's share. All CPUs of one LLC come together. */
void scan_sums_add(struct scan_sums *s, s32 llc, u64 share);

/*
 * Return the LLC to prefer from now on, or -1. It is the one with the highest sum, if that is more
 * than twice the present LLC's, else the present LLC. A lower factor would let a process that runs
 * in two LLCs alternate. Of LLCs with equal sums the first one counts.
 */
s32 scan_sums_end(struct scan_sums *s);

#endif
