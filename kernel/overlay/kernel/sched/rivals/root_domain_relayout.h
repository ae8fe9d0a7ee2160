/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rival "relayout": the fields of stock Linux, regrouped as published (Pan Deng, linux-kernel,
 * 2025-07-21, patch 2 of 4). The RT count keeps the first line. The push work and the interrupt's
 * loop have lines of their own. Levels start on a line. pd and the RT mask share one. The two flags
 * are last.
 */
#ifndef _KERNEL_SCHED_RIVALS_ROOT_DOMAIN_RELAYOUT_H
#define _KERNEL_SCHED_RIVALS_ROOT_DOMAIN_RELAYOUT_H

struct root_domain {
	atomic_t refcount;
	atomic_t rto_count;
	struct rcu_head rcu;
	cpumask_var_t span;
	cpumask_var_t online;
	atomic_t dlo_count;
	struct dl_bw dl_bw;
	struct cpudl cpudl;

#ifdef HAVE_RT_PUSH_IPI
	struct irq_work rto_push_work;
	raw_spinlock_t rto_lock;
	int rto_loop;
	int rto_cpu;
	atomic_t rto_loop_next;
	atomic_t rto_loop_start;
#endif
	cpumask_var_t dlo_mask;
	u64 visit_cookie;

	struct cpupri cpupri ____cacheline_aligned;

	struct perf_domain __rcu *pd ____cacheline_aligned;
	cpumask_var_t rto_mask;

	bool overloaded ____cacheline_aligned;
	bool overutilized;
};

#endif /* _KERNEL_SCHED_RIVALS_ROOT_DOMAIN_RELAYOUT_H */
