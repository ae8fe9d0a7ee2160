// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/fair.c: the CPUs whose tick is stopped are a sharded bitmap with a summary,
// which also answers whether there are any: the counter beside the mask goes.

@@
@@
 #include "autogroup.h"
+#include "nohz_idle.h"

// The pointer gets a line that nobody writes: what follows is written at every idle entry.
@@
attribute name ____cacheline_aligned;
typedef cpumask_var_t, atomic_t;
identifier state;
@@
 static struct {
-	cpumask_var_t idle_cpus_mask;
-	atomic_t nr_cpus;
-	int has_blocked;
+	struct sbm *idle_cpus_mask;
+	int has_blocked ____cacheline_aligned;
 	...
 } state;

@@
identifier find_new_ilb = find_new_ilb;
iterator name for_each_cpu_and;
iterator name sbm_for_each_cpu_and;
expression cpu, mask;
statement S;
@@
 find_new_ilb(...)
 {
 	...
+	/*
+	 * From the first one on, not from here: CPUs that kick in the same tick must meet in
+	 * one CPU, whose flags then tell all but the first that it has been kicked.
+	 */
-	for_each_cpu_and(cpu, nohz.idle_cpus_mask, mask)
+	sbm_for_each_cpu_and(cpu, it, nohz.idle_cpus_mask, cpumask_bits(mask))
 	S
 	...
 }

@@
identifier nohz_balancer_kick = nohz_balancer_kick;
@@
 nohz_balancer_kick(...)
 {
 	<+...
-	!atomic_read(&nohz.nr_cpus)
+	sbm_seems_empty(nohz.idle_cpus_mask)
 	...+>
 }

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
-	atomic_dec(&nohz.nr_cpus);
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
-	atomic_inc(&nohz.nr_cpus);
+	sbm_set_at(&rq->nohz_place);
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
