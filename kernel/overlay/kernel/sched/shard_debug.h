/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks of sharded scheduler state where the scheduler writes it; shard_debug.c. */
#ifndef _KERNEL_SCHED_SHARD_DEBUG_H
#define _KERNEL_SCHED_SHARD_DEBUG_H

struct rq;
struct sbm;

#ifdef CONFIG_SCHED_SHARD_DEBUG

#include <linux/jump_label.h>

DECLARE_STATIC_KEY_FALSE(shard_debug_on);

void __shard_debug_rq(struct rq *rq);
void shard_debug_idle(struct sbm *set);

/*
 * Check the state that a queue has published. The caller holds its lock. The static branch is off
 * until a write to debugfs turns checks on.
 */
static inline void shard_debug_rq(struct rq *rq)
{
	if (static_branch_unlikely(&shard_debug_on))
		__shard_debug_rq(rq);
}

#else

static inline void shard_debug_rq(struct rq *rq) { }
static inline void shard_debug_idle(struct sbm *set) { }

#endif /* CONFIG_SCHED_SHARD_DEBUG */
#endif /* _KERNEL_SCHED_SHARD_DEBUG_H */
