// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: the other classes report the running task to the RT class.

@@
@@
+extern void rt_overload_update(struct rq *rq, const struct task_struct *donor);
+extern void rt_overload_ease(struct rq *rq, const struct task_struct *donor);
 extern void init_sched_rt_class(void);
