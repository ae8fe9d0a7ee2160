/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * struct root_domain, by heat. What is only read is on lines that stay in every cache; what is
 * written has lines of its own, by who writes it; what one CPU writes and another one reads at
 * every wake-up is not here at all, but in lines of its shard, which the first group points to.
 */
#ifndef _KERNEL_SCHED_ROOT_DOMAIN_H
#define _KERNEL_SCHED_ROOT_DOMAIN_H

/**
 * struct root_domain - run queues that balance with each other, and what they publish
 * @cpupri: levels
 * @rto: who has RT tasks that wait
 * @rto_walks: the interrupts that let them push
 * @dlo: who has deadline tasks that wait
 * @pd: NULL-terminated list of performance domains that intersect with the CPUs; RCU
 * @span: the CPUs
 * @online: those of them that are on line
 * @refcount: run queues, and whoever builds the domain; freed by RCU at 0
 * @rcu: for that
 * @visit_cookie: has dl_bw been looked at in this round? Rises for ever
 * @dl_bw: bandwidth of deadline tasks, with its lock
 * @cpudl: CPUs by deadline, with its lock
 * @overloaded: some CPU has load to pull: more than one runnable task, or a misfit one
 * @overutilized: some CPU is over-utilised (tipping point)
 */
struct root_domain {
	/*
	 * Never written once the domain is made. Read by every CPU at every change of level
	 * (cpupri), whenever its list of pushable tasks changes in a way that others must know
	 * (rto, dlo), and when its level falls (rto, rto_walks, dlo). First the RT class: one line.
	 */
	struct cpupri cpupri;
	struct overload *rto;
#ifdef HAVE_RT_PUSH_IPI
	struct rt_walks *rto_walks;
#endif
	struct overload *dlo;

	/*
	 * Written when domains are rebuilt and CPUs go on or off line, or (visit_cookie) by who
	 * admits a deadline task. Read by fair wake-ups (pd) and by who admits.
	 */
	struct perf_domain __rcu *pd;
	cpumask_var_t span;
	cpumask_var_t online;
	u64 visit_cookie;
	struct rcu_head rcu;
	atomic_t refcount;

	/*
	 * Written under their own locks: dl_bw when a deadline task comes, goes or changes, cpudl
	 * when one starts or stops to be its queue's earliest. Read by the same, and cpudl by who
	 * looks for a CPU for a deadline task.
	 */
	struct dl_bw dl_bw ____cacheline_aligned;
	struct cpudl cpudl;

	/*
	 * Read at every newly idle balance, and (overutilized) at every fair wake-up; written
	 * only when it changes. Alone, as it is read by far more CPUs than anything else that is
	 * written.
	 */
	bool overloaded ____cacheline_aligned;
	bool overutilized;
};

#endif /* _KERNEL_SCHED_ROOT_DOMAIN_H */
