// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/fair.c of 7.3: cache groups with visited CPUs, in place of a runtime and an epoch for every
// possible CPU and a lock for each run queue.

// ---- a group is made with its mm
@@
identifier mm_init_sched = mm_init_sched;
identifier epoch, grp, i;
iterator name for_each_possible_cpu;
@@
+#include "cache_group.h"
 mm_init_sched(...)
 {
 	...
-	unsigned long epoch = 0;
-	int i;
 	...
-	grp = kzalloc_obj(*grp);
+	grp = cache_group_alloc();
 	...
-	for_each_possible_cpu(i) { ... }
 	...
-	grp->epoch = epoch;
+	grp->epoch = cache_group_epoch();
 	...
 }

@@
expression grp, percpu;
@@
-	smp_store_release(&grp->pcpu_sched, percpu);

@@
expression grp;
@@
-	free_percpu(grp->pcpu_sched);
-	kfree(grp);
+	cache_group_free(grp);

// ---- a CPU accounts
@@
identifier f = {__shr_u64, __update_mm_sched, fraction_mm_sched};
type T;
@@
-T f(...)
-{
-	...
-}

@@
iterator name scoped_guard;
expression epoch, delta, rq, grp;
identifier pcpu;
@@
-	pcpu = per_cpu_ptr(grp->pcpu_sched, cpu_of(rq));
-	scoped_guard (raw_spinlock, &rq->cpu_epoch_lock) {
-		__update_mm_sched(rq, pcpu);
-		pcpu->runtime += delta;
-		rq->cpu_runtime += delta;
-		epoch = rq->cpu_epoch;
-	}
+	epoch = cache_group_account(rq, grp, delta);

@@
iterator name scoped_guard;
identifier account_mm_sched = account_mm_sched;
identifier pcpu;
@@
 account_mm_sched(...)
 {
 	...
-	struct sched_cache_time *pcpu;
 	...
 }

@@
iterator name scoped_guard;
expression grp, E;
@@
-	E || !grp || !grp->pcpu_sched
+	E || !grp

@@
expression grp, E;
@@
-	!grp || E || !grp->pcpu_sched
+	!grp || E

@@
expression epoch, rq;
@@
-	epoch = rq->cpu_epoch;
+	epoch = cache_group_epoch();

// ---- the scan
@@
iterator name scoped_guard, for_each_cpu, for_each_cpu_and;
expression grp, cpus, p;
@@
 	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL))
 		return;
+
+	if (!cache_group_walk(grp, cpus))
+		return;
 	scoped_guard (cpus_read_lock) {
 		guard(rcu)();
 		get_scan_cpumasks(cpus, p, grp);
 		...
 	}

@@
iterator name scoped_guard, for_each_cpu, for_each_cpu_and;
expression grp, cpus, p;
@@
-	scoped_guard (cpus_read_lock) {
-		guard(rcu)();
-
-		get_scan_cpumasks(cpus, p, grp);
-
+	scoped_guard (rcu) {
 		...
 	}

@@
identifier f = get_scan_cpumasks;
@@
-static void f(...)
-{
-	...
-}

@@
iterator name scoped_guard, for_each_cpu, for_each_cpu_and;
expression i, sd, occ, grp;
@@
-	for_each_cpu(i, sched_domain_span(sd)) {
-		occ = fraction_mm_sched(cpu_rq(i), per_cpu_ptr(grp->pcpu_sched, i));
+	for_each_cpu_and(i, sched_domain_span(sd), cpus) {
+		occ = cache_group_share(grp, i);
 		...
 	}

