// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/fair.c of 7.3: the idle set of nohz by slot, in core/sched/nohz_idle.h. No barrier changes.

@@
typedef cpumask_var_t;
identifier state;
@@
+#include "nohz_idle.h"
 static struct {
-	cpumask_var_t idle_cpus_mask;
 	...
 } state;

// From the first CPU on, as before: CPUs that kick in one tick meet in one, whose flags show that.
@@
declarer name late_initcall;
attribute name __ro_after_init, __init;
typedef u64;
identifier find_new_ilb = find_new_ilb;
iterator name for_each_cpu, for_each_nohz_idle;
expression ilb, mask, kernel;
@@
+static u64 nohz_ilb_shards __ro_after_init = ~0ull;
+
+static int __init nohz_ilb_init(void)
+{
+	u64 shards = 0;
+	int cpu;
+
+	for_each_cpu(cpu, housekeeping_cpumask(HK_TYPE_KERNEL_NOISE))
+		shards |= cpu_shard_bit(cpu);
+	nohz_ilb_shards = shards;
+	return 0;
+}
+late_initcall(nohz_ilb_init);
+
 find_new_ilb(...)
 {
 	...
-	cpumask_and(mask, nohz.idle_cpus_mask, kernel);
+	cpumask_copy(mask, kernel);
 	...
-	for_each_cpu(ilb, mask) {
+	for_each_nohz_idle(ilb, 0, nohz_ilb_shards) {
+		if (!cpumask_test_cpu(ilb, mask))
+			continue;
 	...
 	}
 	...
 }

// The shard of this CPU comes first, because its line is near.
@@
symbol rq;
expression n;
@@
(
-	cpumask_empty(nohz.idle_cpus_mask)
+	nohz_idle_next(-1, round_down(cpu_slot[rq->cpu], SHARD_SLOTS), ~0ull) >= nr_cpu_ids
|
-	cpumask_clear_cpu(n, nohz.idle_cpus_mask)
+	clear_bit(nohz_idle_bit(n), nohz_idle)
|
-	cpumask_set_cpu(n, nohz.idle_cpus_mask)
+	set_bit(nohz_idle_bit(n), nohz_idle)
|
-	cpumask_test_cpu(n, nohz.idle_cpus_mask)
+	test_bit(nohz_idle_bit(n), nohz_idle)
|
-	zalloc_cpumask_var(&nohz.idle_cpus_mask, GFP_NOWAIT)
+	nohz_idle = (unsigned long *)cpu_slot_bytes(0)
)

@@
iterator name for_each_cpu_and, for_each_cpu;
expression cpu, mask;
@@
-	for_each_cpu_and(cpu, mask, nohz.idle_cpus_mask) {
+	for_each_cpu(cpu, mask) {
+		if (!test_bit(nohz_idle_bit(cpu), nohz_idle))
+			continue;
 	...
 	}

@@
iterator name for_each_cpu_wrap, for_each_nohz_idle;
expression cpu, this;
statement S;
@@
-	for_each_cpu_wrap(cpu, nohz.idle_cpus_mask, this + 1)
+	for_each_nohz_idle(cpu, cpu_slot[this] + 1, ~0ull)
 	S
