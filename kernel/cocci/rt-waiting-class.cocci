// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/deadline.c, stop_task.c: RT tasks wait behind tasks of these classes too, and no longer when
// the fair server's task comes next.

@@
identifier set_next_task_dl = set_next_task_dl;
identifier rq, p;
@@
 set_next_task_dl(struct rq *rq, struct task_struct *p, ...)
 {
 	...
 	dequeue_pushable_dl_task(rq, p);
+	rt_overload_update(rq, p);
 	...
 }

@@
identifier set_next_task_stop = set_next_task_stop;
identifier rq, p;
@@
 set_next_task_stop(struct rq *rq, struct task_struct *p, ...)
 {
 	...
+	rt_overload_update(rq, p);
 }

@@
identifier put_prev_task_dl = put_prev_task_dl;
identifier rq, p, next;
@@
 put_prev_task_dl(struct rq *rq, struct task_struct *p, struct task_struct *next)
 {
 	...
 	update_dl_rq_load_avg(...);
+	if (next)
+		rt_overload_ease(rq, next);
 	...
 }

@@
identifier put_prev_task_stop = put_prev_task_stop;
identifier rq, p, next;
@@
 put_prev_task_stop(struct rq *rq, struct task_struct *p, struct task_struct *next)
 {
 	...
+	if (next)
+		rt_overload_ease(rq, next);
 }
