/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cache-aware scheduling: what placement adds to a run queue, see cache_place.c.
 */
#ifndef _KERNEL_SCHED_CACHE_STRAY_H
#define _KERNEL_SCHED_CACHE_STRAY_H

#ifdef CONFIG_SCHED_CACHE_SHARD

/**
 * struct sched_cache_stray - of a run queue
 * @llc: which LLC the thread that the last tick found prefers, if not this one, plus 1; 0: none.
 *	 Written under rq->lock, when it changes; read by balancing CPUs. Not on the line of
 *	 struct sched_cache_rq, which is written all the time
 */
struct sched_cache_stray {
	s32 llc;
};

#else

struct sched_cache_stray {
};

#endif /* CONFIG_SCHED_CACHE_SHARD */

#endif /* _KERNEL_SCHED_CACHE_STRAY_H */
