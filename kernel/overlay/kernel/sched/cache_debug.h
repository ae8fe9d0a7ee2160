/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is what a scan of visited CPUs says what a full scan would have said? cache_debug.c.
 */
#ifndef _KERNEL_SCHED_CACHE_DEBUG_H
#define _KERNEL_SCHED_CACHE_DEBUG_H

struct occupancy;
struct sched_cache_check;
struct sched_cache_shadow;

#ifdef CONFIG_SCHED_SHARD_DEBUG

/* Runtimes of a process by CPU number that nobody takes away; NULL while nothing is checked. */
struct sched_cache_shadow *sched_cache_debug_alloc(void);
void __sched_cache_debug_account(struct sched_cache_shadow *shadow, int cpu, u32 epoch, u64 ns,
				 bool counted);

/**
 * sched_cache_debug_account() - runtime was accounted
 * @shadow: of the process, or NULL
 * @cpu: where; its run queue is locked
 * @epoch: of that CPU
 * @ns: for how long
 * @counted: what visited_account() said
 */
static inline void sched_cache_debug_account(struct sched_cache_shadow *shadow, int cpu, u32 epoch,
					     u64 ns, bool counted)
{
	if (shadow)
		__sched_cache_debug_account(shadow, cpu, epoch, ns, counted);
}

/**
 * sched_cache_debug_begin() - a scan is about to begin: see what it must find
 * @shadow: of the process, or NULL
 * @epoch: of the scan
 * @timeout: of the scan
 * @present: the LLC that is preferred before it, -1: none
 *
 * Return: what to hand to the others, or NULL. Context: may sleep.
 */
struct sched_cache_check *sched_cache_debug_begin(struct sched_cache_shadow *shadow, u32 epoch,
						  s32 timeout, s32 present);

/* It walks the visited CPUs, and must find all that were not too old. */
void sched_cache_debug_visited(struct sched_cache_check *check);

/* It found a CPU. */
void sched_cache_debug_found(struct sched_cache_check *check, int cpu);

/* It is over; @o: what it added up, NULL: another thread scanned. */
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
