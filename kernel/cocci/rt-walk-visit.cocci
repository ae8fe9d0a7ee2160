// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: a push walk visits the CPU that it stands on again for a request that arrived
// after this CPU had begun to push.

@@
identifier rto_next_cpu = rto_next_cpu;
identifier rd, cpu;
typedef bool;
@@
 static int rto_next_cpu(struct root_domain *rd
+, int served
 )
 {
 	...
 	int cpu;
+	/* This CPU has served the requests up to @served: it began to push after them. */
+	bool skip = true;
 	... when any
 }

@@
identifier rto_next_cpu = rto_next_cpu;
identifier cpu, this_cpu;
@@
 rto_next_cpu(...)
 {
 	<...
-	cpu == this_cpu
+	cpu == this_cpu && skip
 	...>
 }

@@
identifier rto_next_cpu = rto_next_cpu;
identifier rd, next;
@@
 rto_next_cpu(struct root_domain *rd, int served)
 {
 	<...
 	rd->rto_loop = next;
+	skip = next == served;
 	...>
 }

@@
identifier tell_cpu_to_push = tell_cpu_to_push;
expression rq;
@@
 tell_cpu_to_push(...)
 {
 	<...
-	cpu = rto_next_cpu(rq->rd);
+	cpu = rto_next_cpu(rq->rd, rq->rd->rto_loop);
 	...>
 }

@@
identifier rto_push_irq_work_func = rto_push_irq_work_func;
identifier rd, rq;
@@
 rto_push_irq_work_func(...)
 {
 	...
 	rq = this_rq();
+	/* Before the levels are looked at. The request stored its own level before it counted. */
+	served = atomic_read_acquire(&rd->rto_loop_next);
 	...
-	cpu = rto_next_cpu(rd);
+	cpu = rto_next_cpu(rd, served);
 	...
 }

@@
identifier rto_push_irq_work_func = rto_push_irq_work_func;
identifier rq;
@@
 rto_push_irq_work_func(...)
 {
 	...
 	struct rq *rq;
+	int served;
 	...
 }
