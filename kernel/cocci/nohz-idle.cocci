// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/fair.c: the CPUs whose tick is stopped are a sharded bitmap with a summary.
// What differs by version is in linux-*/nohz-idle.cocci.

@@
@@
 #include "autogroup.h"
+#include "nohz_idle.h"

@@
identifier nohz_balancer_kick = nohz_balancer_kick;
iterator name for_each_cpu_and;
iterator name sbm_for_each_cpu_and;
expression cpu, mask;
statement S;
@@
 nohz_balancer_kick(...)
 {
 	<+...
-	for_each_cpu_and(cpu, mask, nohz.idle_cpus_mask)
+	sbm_for_each_cpu_and(cpu, it, nohz.idle_cpus_mask, cpumask_bits(mask))
 	S
 	...+>
 }

@@
identifier nohz_balance_exit_idle = nohz_balance_exit_idle;
identifier rq;
@@
 nohz_balance_exit_idle(struct rq *rq)
 {
 	...
-	cpumask_clear_cpu(rq->cpu, nohz.idle_cpus_mask);
+	sbm_clear_at(&rq->nohz_place);
 	...
 }

@@
identifier nohz_balance_enter_idle = nohz_balance_enter_idle;
expression cpu;
@@
 nohz_balance_enter_idle(...)
 {
 	...
+	/*
+	 * The bit first, then the flags that are set below, with the full barrier
+	 * between them that sbm_set_at() ends with: a balancer that passed our bit while
+	 * it was clear leaves the flags set.
+	 */
-	cpumask_set_cpu(cpu, nohz.idle_cpus_mask);
+	sbm_set_at(&rq->nohz_place);
 	...
-	smp_mb__after_atomic();
 	...
 }

@@
identifier update_nohz_stats = update_nohz_stats;
expression cpu;
@@
 update_nohz_stats(...)
 {
 	<+...
-	cpumask_test_cpu(cpu, nohz.idle_cpus_mask)
+	sbm_test(nohz.idle_cpus_mask, cpu)
 	...+>
 }

@@
identifier _nohz_idle_balance = _nohz_idle_balance;
iterator name for_each_cpu_wrap;
iterator name for_each_nohz_idle_after;
expression cpu, this;
statement S;
@@
 _nohz_idle_balance(...)
 {
 	...
-	for_each_cpu_wrap(cpu, nohz.idle_cpus_mask, this + 1)
+	for_each_nohz_idle_after(cpu, it, nohz.idle_cpus_mask, this)
 	S
 	...
 }

@@
@@
-	zalloc_cpumask_var(&nohz.idle_cpus_mask, GFP_NOWAIT);
+	nohz.idle_cpus_mask = nohz_idle_alloc();
