// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c, broken on purpose: a push walk may send its own CPU an interrupt, as it did
// until Linux's commit 94894c9c477e. For the test of the checker. This patch makes a walk of each
// request: the series sends few queues an interrupt each, so small guests would have no walk.

@@
identifier rto_next_cpu = rto_next_cpu;
identifier this_cpu;
@@
 rto_next_cpu(...)
 {
	...
	int this_cpu =
-		smp_processor_id()
+		-2
	;
	...
 }

@@
expression rq, from;
@@
 if (
-	!rt_ask_few(rq, from)
+	true || !rt_ask_few(rq, from)
 )
	tell_cpu_to_push(rq);
