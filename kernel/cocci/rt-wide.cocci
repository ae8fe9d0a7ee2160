// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: the queue counts the waiting tasks that may leave its shard.

@@
identifier enqueue_pushable_task = enqueue_pushable_task;
identifier rq, p;
@@
 enqueue_pushable_task(struct rq *rq, struct task_struct *p)
 {
 	...
+	rt_wide_enter(rq, p);
 	rt_overload_update(...);
 }

@@
identifier dequeue_pushable_task = dequeue_pushable_task;
identifier rq, p;
@@
 dequeue_pushable_task(struct rq *rq, struct task_struct *p)
 {
 	plist_del(...);
+	rt_wide_leave(rq, p);
 	...
 }
