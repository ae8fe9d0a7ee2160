// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/fair.c of 6.12: the set also says whether any CPU is in it. So the rule removes the
// counter beside the mask.

// The pointer gets a line that no CPU writes: every idle entry writes what follows it.
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
@@
-	atomic_inc(&nohz.nr_cpus);

@@
@@
-	atomic_dec(&nohz.nr_cpus);
