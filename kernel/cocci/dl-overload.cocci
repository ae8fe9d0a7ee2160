// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/deadline.c: an overload set says which CPUs have waiting tasks.

@@
identifier dl_overloaded = dl_overloaded;
@@
-static inline int dl_overloaded(...) { ... }

@@
identifier dl_set_overload = dl_set_overload;
expression rq;
@@
 dl_set_overload(...)
 {
 	...
-	cpumask_set_cpu(rq->cpu, rq->rd->dlo_mask);
-	smp_wmb();
-	atomic_inc(&rq->rd->dlo_count);
+	overload_set(rq->rd->dlo, rq->cpu, true);
 }

@@
identifier dl_clear_overload = dl_clear_overload;
expression rq;
@@
 dl_clear_overload(...)
 {
 	...
-	atomic_dec(&rq->rd->dlo_count);
-	cpumask_clear_cpu(rq->cpu, rq->rd->dlo_mask);
+	overload_clear(rq->rd->dlo, rq->cpu);
 }

@@
identifier pull_dl_task = pull_dl_task;
@@
 pull_dl_task(...)
 {
 	...
 	if (likely(!dl_overloaded(...)))
 		return;
-	smp_rmb();
 	...
 }

@@
expression rq, cpu;
iterator name for_each_cpu;
iterator name for_each_dl_overloaded;
statement S;
@@
-	for_each_cpu(cpu, rq->rd->dlo_mask)
+	for_each_dl_overloaded(cpu, rq)
 	S
