// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h of 6.12: without CONFIG_SMP there is no CPU to push to.

@@
@@
+#ifdef CONFIG_SMP
 extern void rt_overload_update(struct rq *rq, const struct task_struct *donor);
+#else
+static inline void rt_overload_update(struct rq *rq, const struct task_struct *donor) { }
+#endif

@@
@@
+#ifdef CONFIG_SMP
 extern void rt_overload_ease(struct rq *rq, const struct task_struct *donor);
+#else
+static inline void rt_overload_ease(struct rq *rq, const struct task_struct *donor) { }
+#endif
