/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interrupts that travel from one overloaded CPU to the next and let each push its waiting RT
 * tasks: one walk for each shard, which visits the overloaded CPUs of the shard, and one for the
 * machine, which visits the wide ones. A CPU that lowers its level asks for those of the two that
 * have somebody to visit, so that workloads pinned to different shards never share a walk, nor a
 * line.
 *
 * State, and why no request is lost: lib/schedshard/push_walk.c.
 *
 * A walk takes no reference to its root domain: every walk of the machine would write that
 * counter twice. Instead the root domain is not freed before its walks have ended:
 * rt_walks_ended().
 */
#ifndef _KERNEL_SCHED_RT_WALK_H
#define _KERNEL_SCHED_RT_WALK_H

#include <linux/irq_work.h>
#include <linux/schedshard/push_walk.h>

/**
 * struct rt_walk - one walk
 * @state: read by every CPU that asks for it; a line of its own
 * @work: the interrupt; queued only by who carries the walk, one CPU at a time
 * @rd: the root domain
 * @shard: whose CPUs it visits, -1: all wide ones
 */
struct rt_walk {
	struct push_walk state;
	struct irq_work work;
	struct root_domain *rd;
	int shard;
};

/**
 * struct rt_walks - the walks of a root domain
 * @nr: shards; walk[nr] is the machine's
 * @seen_idle: when the root domain is about to be freed: no walk was under way
 * @walk: each on its own lines, on the node of its shard
 */
struct rt_walks {
	u32 nr;
	bool seen_idle;
	struct rt_walk *walk[];
};

/**
 * rt_walks_alloc() - make the walks of a root domain
 * @rd: the root domain, with rto_walks NULL
 *
 * Context: may sleep. Return: false without memory; what was made is in rto_walks all the same.
 */
bool rt_walks_alloc(struct root_domain *rd);

/**
 * rt_walks_free() - give them back
 * @rd: the root domain; rto_walks may be NULL or incomplete
 */
void rt_walks_free(struct root_domain *rd);

/**
 * rt_walks_ended() - may the root domain be freed?
 * @rd: a root domain without references, an RCU grace period after it lost the last one
 *
 * Return: false: ask again an RCU grace period later, and do not free it.
 */
bool rt_walks_ended(struct root_domain *rd);

#endif /* _KERNEL_SCHED_RT_WALK_H */
