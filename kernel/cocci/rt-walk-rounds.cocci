// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: the first round of a push walk serves the request that started it.

@@
identifier tell_cpu_to_push = tell_cpu_to_push;
expression rq;
@@
 tell_cpu_to_push(...)
 {
 	...
-	if (rq->rd->rto_cpu < 0)
+	if (rq->rd->rto_cpu < 0) {
+		/* As rto_next_cpu(): a round without this CPU serves the others. */
+		if (!rq->rt.overloaded)
+			rq->rd->rto_loop = atomic_read_acquire(&rq->rd->rto_loop_next);
 		cpu = rto_next_cpu(rq->rd);
+	}
 	...
 }
