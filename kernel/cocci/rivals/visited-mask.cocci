// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/fair.c of 7.3: a mask of visited CPUs after each cache group, rivals/visited_mask.h.
// A CPU enters when it accounts runtime and leaves when a scan finds that nothing is left of it.
// So a scan adds up what a scan of all CPUs would. Locks and per-CPU memory stay.

@@
identifier mm_init_sched = mm_init_sched;
identifier grp;
@@
+#include "rivals/visited_mask.h"
 mm_init_sched(...)
 {
 	...
-	grp = kzalloc_obj(*grp);
+	grp = kzalloc(visited_mask_room(), GFP_KERNEL);
 	...
 }

@@
iterator name scoped_guard;
identifier account_mm_sched = account_mm_sched;
identifier grp, pcpu_sched, rq;
@@
 account_mm_sched(struct rq *rq, ...)
 {
 	...
 	pcpu_sched = per_cpu_ptr(grp->pcpu_sched, cpu_of(rq));
+	visited_mask_enter(grp, cpu_of(rq));
 	...
 }

// get_scan_cpumasks(), which limits scans, has no caller any more.
@@
attribute name __maybe_unused;
typedef cpumask_var_t;
identifier get_scan_cpumasks = get_scan_cpumasks;
identifier cpus, p, grp;
@@
-static void get_scan_cpumasks(cpumask_var_t cpus, struct task_struct *p,
-			      struct sched_cache_group *grp)
+static void __maybe_unused get_scan_cpumasks(cpumask_var_t cpus, struct task_struct *p,
+					     struct sched_cache_group *grp)
 {
 	...
 }

@@
iterator name scoped_guard, for_each_cpu;
expression cpus, p, grp;
@@
-	get_scan_cpumasks(cpus, p, grp);
+	cpumask_and(cpus, visited_mask(grp), cpu_online_mask);

@@
iterator name scoped_guard, for_each_cpu, for_each_cpu_and;
expression i, sd, occ, grp;
@@
-	for_each_cpu(i, sched_domain_span(sd)) {
+	for_each_cpu_and(i, sched_domain_span(sd), visited_mask(grp)) {
 		occ = fraction_mm_sched(cpu_rq(i), per_cpu_ptr(grp->pcpu_sched, i));
+		if (!occ)
+			visited_mask_leave(grp, i);
 		...
 	}
