// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why the numbers are right. A sum adds the shares of at most 2^22 CPUs, each 0..2^20, so it cannot
 * overflow. best_sum is the largest sum, and present_sum is not larger. So if best_sum > 2 *
 * present_sum, the best LLC is not the present one, or no LLC is preferred yet.
 */
#include "scan_sums.h"

void scan_sums_begin(struct scan_sums *s, s32 present)
{
	*s = (struct scan_sums){ .present = present, .llc = -1, .best = -1 };
}

/* The current LLC is complete. */
static void close_llc(struct scan_sums *s)
{
	if (s->sum > s->best_sum) {
		s->best = s->llc;
		s->best_sum = s->sum;
	}
	if (s->llc == s->present)
		s->present_sum = s->sum;
	s->sum = 0;
}

void scan_sums_add(struct scan_sums *s, s32 llc, u64 share)
{
	if (llc != s->llc) {
		close_llc(s);
		s->llc = llc;
	}
	s->sum += share;
}

s32 scan_sums_end(struct scan_sums *s)
{
	close_llc(s);
	s->llc = -1;
	return s->best_sum > 2 * s->present_sum ? s->best : s->present;
}
