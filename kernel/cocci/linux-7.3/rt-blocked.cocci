// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c since proxy execution: a donor that is blocked is not pushable, but who comes
// after it is looked at all the same.

@@
identifier put_prev_task_rt = put_prev_task_rt;
expression rq, p, E;
@@
 put_prev_task_rt(...)
 {
 	...
-	if (task_is_blocked(p))
-		return;
-	if (E)
+	if (!task_is_blocked(p) && E)
 		enqueue_pushable_task(rq, p);
 	...
 }
