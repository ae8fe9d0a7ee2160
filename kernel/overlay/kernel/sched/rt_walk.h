/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupts that travel from one overloaded CPU to the next; each CPU pushes its waiting RT tasks.
 * Each shard has a walk, which visits its overloaded CPUs. The machine has one, which visits the
 * wide CPUs. A CPU that lowers its level requests each of these two that has a CPU to visit.
 *
 * A walk takes no reference to its root domain; rt_walks_ended() delays the free until it ended.
 */
#ifndef _KERNEL_SCHED_RT_WALK_H
#define _KERNEL_SCHED_RT_WALK_H

#include <linux/irq_work.h>
#include <linux/schedshard/push_walk.h>

#ifdef HAVE_RT_PUSH_IPI

/* One walk. */
struct rt_walk {
	struct push_walk state; /* every requesting CPU reads it; on a line of its own */
	struct irq_work work;	/* the interrupt; only the CPU that carries the walk queues it */
	struct root_domain *rd; /* the root domain */
	int shard;		/* the walk visits its CPUs; -1: all wide CPUs */
};

/* The walks of a root domain. */
struct rt_walks {
	u32 nr;			/* shards; walk[nr] is the machine's */
	bool seen_idle;		/* the last rt_walks_ended() saw every walk idle */
	struct rt_walk *walk[]; /* each on its own lines, on the node of its shard */
};

/* Make the walks of @rd. False: no memory; rd->rto_walks may then be incomplete. May sleep. */
bool rt_walks_alloc(struct root_domain *rd);

/* Free the walks; rd->rto_walks may be NULL or incomplete. */
void rt_walks_free(struct root_domain *rd);

/*
 * May the caller free @rd? An RCU grace period has passed since @rd lost its last reference. False:
 * no; call again a grace period later.
 */
bool rt_walks_ended(struct root_domain *rd);

#else

static inline void rt_walks_free(struct root_domain *rd) { }
static inline bool rt_walks_ended(struct root_domain *rd)
{
	return true;
}

#endif /* HAVE_RT_PUSH_IPI */
#endif /* _KERNEL_SCHED_RT_WALK_H */
