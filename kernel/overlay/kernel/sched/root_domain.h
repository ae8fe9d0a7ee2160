/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * struct root_domain, by heat. Read-only fields share lines; each group of writers has lines of its
 * own. Lines of shards have the state that other CPUs read at every wake-up.
 */
#ifndef _KERNEL_SCHED_ROOT_DOMAIN_H
#define _KERNEL_SCHED_ROOT_DOMAIN_H

/**
 * struct root_domain - run queues that balance with each other, and their published state
 * @cpupri: levels
 * @rto: CPUs with waiting RT tasks
 * @rto_walks: the interrupts that let them push
 * @dlo: CPUs with waiting deadline tasks
 * @pd: NULL-terminated list of performance domains that intersect with the CPUs; RCU
 * @span: the CPUs
 * @online: the online CPUs of @span
 * @refcount: run queues, and the builder of the domain; RCU frees it at 0
 * @rcu: for that
 * @visit_cookie: has this round visited dl_bw? Only ever rises
 * @dl_bw: bandwidth of deadline tasks, with its lock
 * @cpudl: CPUs by deadline, with its lock
 * @overloaded: some CPU has load to pull: more than one runnable task, or a misfit one
 * @overutilized: some CPU is over-utilised (tipping point)
 */
struct root_domain {
	/*
	 * Read-only after setup. CPUs read them at every change of level (cpupri), at changes of
	 * pushable tasks that others must know (rto, dlo), and when a level falls (rto, rto_walks,
	 * dlo). The RT class's fields share the first line.
	 */
	struct cpupri cpupri;
	struct overload *rto;
#ifdef HAVE_RT_PUSH_IPI
	struct rt_walks *rto_walks;
#endif
	struct overload *dlo;

	/*
	 * A rebuild of domains and CPU hotplug write them. Admission of a deadline task reads them,
	 * and writes visit_cookie. Fair wake-ups read pd.
	 */
	struct perf_domain __rcu *pd;
	cpumask_var_t span;
	cpumask_var_t online;
	u64 visit_cookie;
	struct rcu_head rcu;
	atomic_t refcount;

	/*
	 * Written under their own locks: dl_bw when a deadline task comes, goes or changes, cpudl
	 * when a queue's earliest deadline task changes. The writers read them; a search for a CPU
	 * for a deadline task also reads cpudl.
	 */
	struct dl_bw dl_bw ____cacheline_aligned;
	struct cpudl cpudl;

	/*
	 * Every newly idle balance reads them, and every fair wake-up overutilized. CPUs write them
	 * only on change. They have a line of their own: of all written lines, most CPUs read this.
	 */
	bool overloaded ____cacheline_aligned;
	bool overutilized;
};

#endif /* _KERNEL_SCHED_ROOT_DOMAIN_H */
