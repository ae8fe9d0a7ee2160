// SPDX-License-Identifier: GPL-2.0-only
// include/linux/sched.h: was the task counted as wide? Written under rq->lock, as its neighbours.

@@
@@
 struct task_struct {
 	...
 	unsigned sched_task_hot:1;
+	unsigned sched_rt_wide:1;
 	...
 };
