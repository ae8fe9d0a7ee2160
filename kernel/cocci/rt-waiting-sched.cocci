// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: RT tasks wait behind a task of any class.

@@
@@
+void rt_overload_update(struct rq *rq, const struct task_struct *donor);
+
+/* @donor runs next. */
+static inline void rt_overload_donor(struct rq *rq,
+				     const struct task_struct *donor)
+{
+	if (unlikely(!plist_head_empty(&rq->rt.pushable_tasks)))
+		rt_overload_update(rq, donor);
+}
+
 static inline void put_prev_task(...) { ... }

@@
expression rq, next, first;
@@
 next->sched_class->set_next_task(rq, next, first);
+rt_overload_donor(rq, next);
