// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: a queue is overloaded only while a pushable task waits behind the donor.

@@
identifier enqueue_pushable_task = enqueue_pushable_task;
identifier rq, p;
typedef bool;
@@
+/*
+ * The list of pushable tasks has changed, or @donor runs next.
+ *
+ * A task that outranks @donor can neither be pulled nor pushed: pull_rt_task()
+ * skips it, and push_rt_task() reschedules instead. So a queue with no other
+ * pushable task is not overloaded. The last one has the lowest priority.
+ */
+void rt_overload_update(struct rq *rq, const struct task_struct *donor)
+{
+	const struct plist_head *tasks = &rq->rt.pushable_tasks;
+	bool waits = !plist_head_empty(tasks) &&
+		     plist_last(tasks)->prio >= donor->prio;
+
+	if (likely(waits == rq->rt.overloaded))
+		return;
+	rq->rt.overloaded = waits;
+	if (waits)
+		rt_set_overload(rq);
+	else
+		rt_clear_overload(rq);
+}
+
 static void enqueue_pushable_task(struct rq *rq, struct task_struct *p)
 {
 	...
-	if (!rq->rt.overloaded) {
-		rt_set_overload(rq);
-		rq->rt.overloaded = 1;
-	}
+	rt_overload_update(rq, rq->donor);
 }

@@
identifier dequeue_pushable_task = dequeue_pushable_task;
identifier rq, p;
@@
 static void dequeue_pushable_task(struct rq *rq, struct task_struct *p)
 {
 	plist_del(...);
 	if (has_pushable_tasks(rq)) {
 		...
 	} else {
 		...
-		if (rq->rt.overloaded) {
-			rt_clear_overload(rq);
-			rq->rt.overloaded = 0;
-		}
 	}
+	rt_overload_update(rq, rq->donor);
 }

// A task that outranks the donor must still end in resched_curr().
@@
identifier push_rt_task = push_rt_task;
identifier rq;
@@
 push_rt_task(struct rq *rq, ...)
 {
 	...
-	if (!rq->rt.overloaded)
-		return 0;
 	...
 }

@@
expression rq, p;
@@
-p->nr_cpus_allowed > 1 && rq->rt.overloaded
+p->nr_cpus_allowed > 1
