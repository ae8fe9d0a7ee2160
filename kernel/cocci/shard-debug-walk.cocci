// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: report to the check where push walks go.

@@
@@
 #include "pelt.h"
+#include "shard_debug.h"

@@
identifier rto_push_irq_work_func = rto_push_irq_work_func;
expression cpu;
@@
 rto_push_irq_work_func(...)
 {
	...
	cpu = rto_next_cpu(...);
+	shard_debug_walk(cpu);
	...
 }
