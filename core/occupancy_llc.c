// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why the numbers hold. A sum adds the shares of at most 2^22 CPUs, each 0..2^20: no overflow.
 * best_sum is the largest sum, and present_sum is not larger. So if best_sum > 2 * present_sum, the
 * best LLC is not the present one, or no LLC is preferred yet.
 */
#include "occupancy_llc.h"

void occupancy_begin(struct occupancy *o, s32 present)
{
	*o = (struct occupancy){ .present = present, .llc = -1, .best = -1 };
}

/* The current LLC is complete. */
static void close_llc(struct occupancy *o)
{
	if (o->sum > o->best_sum) {
		o->best = o->llc;
		o->best_sum = o->sum;
	}
	if (o->llc == o->present)
		o->present_sum = o->sum;
	o->total += o->sum;
	o->sum = 0;
}

void occupancy_cpu(struct occupancy *o, s32 llc, u64 share)
{
	if (llc != o->llc) {
		close_llc(o);
		o->llc = llc;
	}
	o->sum += share;
}

s32 occupancy_end(struct occupancy *o)
{
	close_llc(o);
	o->llc = -1;
	return o->best_sum > 2 * o->present_sum ? o->best : o->present;
}
