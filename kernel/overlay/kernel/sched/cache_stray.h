/* SPDX-License-Identifier: GPL-2.0-only */
/* Cache-aware scheduling: placement's part of a run queue, see cache_place.c. */
#ifndef _KERNEL_SCHED_CACHE_STRAY_H
#define _KERNEL_SCHED_CACHE_STRAY_H

#ifdef CONFIG_SCHED_CACHE_SHARD

/**
 * struct sched_cache_stray - the part in a run queue
 * @llc: LLC that the thread of the last tick prefers, if not this one, plus 1; 0: none. Written on
 *	change, under rq->lock; balancing CPUs read it. Not on the line of struct sched_cache_rq,
 *	which its CPU writes often
 */
struct sched_cache_stray {
	s32 llc;
};

#else

struct sched_cache_stray {
};

#endif /* CONFIG_SCHED_CACHE_SHARD */

#endif /* _KERNEL_SCHED_CACHE_STRAY_H */
