// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/fair.c of 7.3: the set also says whether any CPU is in it. The search for the CPU
// that balances for all goes shard by shard. Its preference for an idle core is unchanged.

// The pointer gets a line that no CPU writes: every idle entry writes what follows it.
@@
attribute name ____cacheline_aligned;
typedef cpumask_var_t;
identifier state;
@@
 static struct {
-	cpumask_var_t idle_cpus_mask;
-	int has_blocked_load;
+	struct sbm *idle_cpus_mask;
+	int has_blocked_load ____cacheline_aligned;
 	...
 } state;

// From the first one on, not from here: CPUs that kick in the same tick must meet in one CPU, whose
// flags then tell all but the first that it has been kicked.
@@
identifier find_new_ilb = find_new_ilb;
iterator name for_each_cpu;
iterator name sbm_for_each_cpu_and;
expression cpu, mask, kernel;
@@
 find_new_ilb(...)
 {
 	...
-	cpumask_and(mask, nohz.idle_cpus_mask, kernel);
+	cpumask_copy(mask, kernel);
 	...
-	for_each_cpu(cpu, mask) {
+	sbm_for_each_cpu_and(cpu, it, nohz.idle_cpus_mask, cpumask_bits(mask)) {
+		/* A shard is read at once, maybe before this one was skipped. */
+		if (!cpumask_test_cpu(cpu, mask))
+			continue;
 	...
 	}
 	...
 }

@@
identifier nohz_balancer_kick = nohz_balancer_kick;
@@
 nohz_balancer_kick(...)
 {
 	<+...
-	cpumask_empty(nohz.idle_cpus_mask)
+	sbm_seems_empty(nohz.idle_cpus_mask)
 	...+>
 }
