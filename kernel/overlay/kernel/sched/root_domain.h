/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * struct root_domain, grouped by use. Read-only fields share lines; each group of writers has lines
 * of its own. Lines of shards have the state that other CPUs read at every wake-up.
 */
#ifndef _KERNEL_SCHED_ROOT_DOMAIN_H
#define _KERNEL_SCHED_ROOT_DOMAIN_H

/* Run queues that balance with each other, and their published state. */
struct root_domain {
	/*
	 * Read-only after setup. CPUs read cpupri at every change of level, and rto, rto_walks and
	 * dlo when a level falls. They also read rto and dlo at changes of pushable tasks that
	 * others must know. The RT class's fields share the first line.
	 */
	struct cpupri cpupri; /* levels */
	struct overload *rto; /* CPUs with waiting RT tasks */
#ifdef HAVE_RT_PUSH_IPI
	struct rt_walks *rto_walks; /* the interrupts that let them push */
#endif
	struct overload *dlo; /* CPUs with waiting deadline tasks */

	/*
	 * A rebuild of domains and CPU hotplug write them. Admission of a deadline task reads them,
	 * and writes visit_cookie. Fair wake-ups read pd.
	 */
	struct perf_domain __rcu *pd; /* performance domains that intersect, NULL-terminated */
	cpumask_var_t span;	      /* the CPUs */
	cpumask_var_t online;	      /* those that are online */
	u64 visit_cookie;	      /* has this round visited dl_bw? Only ever rises */
	struct rcu_head rcu;	      /* frees it at refcount 0 */
	atomic_t refcount;	      /* run queues, and the builder of the domain */

	/*
	 * Written under their own locks: dl_bw when a deadline task comes, goes or changes, cpudl
	 * when a queue's earliest deadline task changes. The writers read them; a search for a CPU
	 * for a deadline task also reads cpudl.
	 */
	struct dl_bw dl_bw ____cacheline_aligned; /* bandwidth of deadline tasks */
	struct cpudl cpudl;			  /* CPUs by deadline */

	/*
	 * Every newly idle balance reads them, and every fair wake-up overutilized. CPUs write them
	 * only on change. They have a line of their own: of all written lines, most CPUs read this.
	 */
	bool overloaded
		____cacheline_aligned; /* some CPU has a task to pull: a second or a misfit one */
	bool overutilized;	       /* some CPU is over-utilised (tipping point) */
};

#endif /* _KERNEL_SCHED_ROOT_DOMAIN_H */
