// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why the numbers hold.
 *
 * Decay may be late. Halving n times, with rounding down each time, is a shift by n. So a word's
 * decay depends on its epoch alone, not on when a reader decays it. Readers decay what they loaded
 * and write nothing back: a scan leaves the lines that it reads unchanged.
 *
 * A share is at most the whole. Let q be a run queue's runtime and p_i those of the processes that
 * ran there. A CPU adds to q first, then to p_i, at the same epoch, and
 *
 *   sum of floor(p_i / 2) <= floor(q / 2)	when sum of p_i <= q,
 *
 * so that sum of p_i <= q at any epoch, and p_i * S / (q + 1) < S. A reader that loads p_i before q
 * sees a q that has all of p_i in it. It decays two words of different epochs to the later one. q's
 * epoch is not before p_i's, but may be ahead of the reader's: then q is halved and p_i is not yet.
 * When q has hit its ceiling, the reader limits p_i to q.
 */
#include "occupancy.h"

u64 occupancy_add(u64 word, u32 now, u64 ns)
{
	/* A word ahead of its own CPU's epoch is so old that the epoch counter has wrapped. */
	u64 sum = occupancy_age(word, now) < 0 ? 0 : occupancy_decayed(word, now);

	sum = ns < ~0ull - sum ? sum + ns : ~0ull;
	return occupancy_pack(now, sum < ~0u ? (u32)sum : ~0u);
}

u64 occupancy_share(u64 word, u64 queue, u32 now)
{
	s32 age = occupancy_age(queue, now);
	u64 mine, all;

	if (age < 0 && age >= -OCCUPANCY_AHEAD)
		now = occupancy_epoch(queue);
	mine = occupancy_decayed(word, now);
	all = occupancy_decayed(queue, now);
	if (mine > all)
		mine = all;
	return port_div64(mine * OCCUPANCY_SCALE, all + 1);
}
