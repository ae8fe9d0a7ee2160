/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a scan of visited CPUs find what a full scan would? See cache_debug.c.
 */
#ifndef _KERNEL_SCHED_CACHE_DEBUG_H
#define _KERNEL_SCHED_CACHE_DEBUG_H

struct occupancy;
struct sched_cache_check;
struct sched_cache_shadow;

#ifdef CONFIG_SCHED_SHARD_DEBUG

/* A process's shadow by CPU number; NULL while no check is on. */
struct sched_cache_shadow *sched_cache_debug_alloc(void);
void __sched_cache_debug_account(struct sched_cache_shadow *shadow, int cpu, u32 epoch, u64 ns,
				 bool counted);

/*
 * A CPU, whose queue is locked, has accounted runtime. @counted: the result of visited_account().
 */
static inline void sched_cache_debug_account(struct sched_cache_shadow *shadow, int cpu, u32 epoch,
					     u64 ns, bool counted)
{
	if (shadow)
		__sched_cache_debug_account(shadow, cpu, epoch, ns, counted);
}

/*
 * A scan begins: record what it must find. @present: the LLC preferred so far, -1: none. Return:
 * the check for the functions below, or NULL. Context: may sleep.
 */
struct sched_cache_check *sched_cache_debug_begin(struct sched_cache_shadow *shadow, u32 epoch,
						  s32 timeout, s32 present);

/* The scan walks the visited CPUs, and must find all that were not too old. */
void sched_cache_debug_visited(struct sched_cache_check *check);

/* The scan found a CPU. */
void sched_cache_debug_found(struct sched_cache_check *check, int cpu);

/* The scan has ended; @o: its sums, NULL: another thread scanned. */
void sched_cache_debug_end(struct sched_cache_check *check, const struct occupancy *o);

#else

static inline struct sched_cache_shadow *sched_cache_debug_alloc(void)
{
	return NULL;
}

static inline void sched_cache_debug_account(struct sched_cache_shadow *shadow, int cpu, u32 epoch,
					     u64 ns, bool counted)
{
}

static inline struct sched_cache_check *sched_cache_debug_begin(struct sched_cache_shadow *shadow,
								u32 epoch, s32 timeout, s32 present)
{
	return NULL;
}

static inline void sched_cache_debug_visited(struct sched_cache_check *check) { }
static inline void sched_cache_debug_found(struct sched_cache_check *check, int cpu) { }
static inline void sched_cache_debug_end(struct sched_cache_check *check, const struct occupancy *o)
{
}

#endif /* CONFIG_SCHED_SHARD_DEBUG */

#endif /* _KERNEL_SCHED_CACHE_DEBUG_H */
