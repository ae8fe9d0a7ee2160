/* SPDX-License-Identifier: GPL-2.0-only */
/* What rt.c reports to the check of published state. */
#ifndef _KERNEL_SCHED_SHARD_DEBUG_H
#define _KERNEL_SCHED_SHARD_DEBUG_H

#ifdef CONFIG_SCHED_SHARD_DEBUG
/* A push walk goes on to CPU @next; -1: it ends. Interrupts are off. */
void shard_debug_walk(int next);
#else
static inline void shard_debug_walk(int next) { }
#endif

#endif /* _KERNEL_SCHED_SHARD_DEBUG_H */
