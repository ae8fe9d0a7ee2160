// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/fair.c: a fork reads no run queue but its own.

@@
iterator name for_each_possible_cpu;
identifier mm_init_sched = mm_init_sched;
identifier grp, epoch, i;
@@
 mm_init_sched(...)
 {
	...
-	unsigned long epoch = 0;
-	int i;
	...
-	for_each_possible_cpu(i) { ... }
	...
-	grp->epoch = epoch;
+	/* The records start at epoch 0: without runtime nothing has to decay. */
+	grp->epoch = raw_rq()->cpu_epoch;
	...
 }
