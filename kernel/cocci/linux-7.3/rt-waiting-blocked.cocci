// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c of 7.3: a blocked donor is not pushable. Even so the next task may be of a
// lower class.

@@
identifier put_prev_task_rt = put_prev_task_rt;
identifier rq, p, next;
@@
 put_prev_task_rt(struct rq *rq, struct task_struct *p, struct task_struct *next)
 {
 	...
-	if (task_is_blocked(p))
-		return;
 	if (
+	    !task_is_blocked(p) &&
 	    on_rt_rq(&p->rt) && p->nr_cpus_allowed > 1)
 		enqueue_pushable_task(rq, p);
 	...
 }
