// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: the overload set (rt_overload.h) says which CPUs have waiting tasks, instead of
// a count and a mask. Linux's push walk visits the CPUs of the set.

@@
identifier rt_overloaded = rt_overloaded;
@@
-static inline int rt_overloaded(...) { ... }

@@
identifier rt_set_overload = rt_set_overload;
@@
-static inline void rt_set_overload(...) { ... }

@@
identifier rt_clear_overload = rt_clear_overload;
@@
-static inline void rt_clear_overload(...) { ... }

// Of rt_overload.h now.

@@
identifier rt_overload_update = rt_overload_update;
@@
-void rt_overload_update(...) { ... }

@@
identifier rt_overload_ease = rt_overload_ease;
@@
-void rt_overload_ease(...) { ... }

// Every CPU of the set is wide.

@@
identifier rto_next_cpu = rto_next_cpu;
identifier rd, cpu;
@@
 rto_next_cpu(struct root_domain *rd, ...)
 {
 	<...
-	cpu = cpumask_next(rd->rto_cpu, rd->rto_mask);
+	cpu = overload_next_wide(rd->rto, rd->rto_cpu);
 	...>
 }

@@
identifier rto_next_cpu = rto_next_cpu;
identifier cpu;
@@
 rto_next_cpu(...)
 {
 	<...
-	cpu < nr_cpu_ids
+	cpu >= 0
 	...>
 }

@@
identifier count;
expression rq;
typedef u32;
@@
-	int count = rt_overloaded(rq);
+	u32 who = overload_query_now(rq->rd->rto, rq->cpu);

@@
identifier pull_rt_task = pull_rt_task;
identifier count;
@@
 pull_rt_task(...)
 {
 	...
-	if (likely(!count))
+	/* No CPU is overloaded, or only this one. */
+	if (likely(!(who & ~OVERLOAD_SELF)))
 		return;
-	smp_rmb();
-	if (count == 1 && cpumask_test_cpu(...))
-		return;
 	...
 }

@@
expression rq, cpu;
iterator name for_each_cpu;
iterator name for_each_rt_overloaded;
statement S;
@@
-	for_each_cpu(cpu, rq->rd->rto_mask)
+	for_each_rt_overloaded(cpu, rq, who)
 	S

// They are other CPUs.
@@
identifier pull_rt_task = pull_rt_task;
identifier this_cpu, cpu;
@@
 pull_rt_task(...)
 {
 	<...
-	if (this_cpu == cpu)
-		continue;
 	...>
 }

@@
identifier rq_online_rt = rq_online_rt;
identifier rq;
@@
 rq_online_rt(struct rq *rq)
 {
 	<...
-	rt_set_overload(rq);
+	rt_overload_publish(rq);
 	...>
 }

@@
identifier rq_offline_rt = rq_offline_rt;
identifier rq;
@@
 rq_offline_rt(struct rq *rq)
 {
 	<...
-	rt_clear_overload(rq);
+	overload_clear(rq->rd->rto, rq->cpu);
 	...>
 }
