// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: overloaded queues are in rto.h.

@@
identifier rt_overloaded = rt_overloaded;
@@
-static inline int rt_overloaded(...) { ... }

@@
identifier rt_set_overload = rt_set_overload;
@@
-static inline void rt_set_overload(...) { ... }

@@
identifier rt_clear_overload = rt_clear_overload;
@@
-static inline void rt_clear_overload(...) { ... }

@@
identifier rt_overload_update = rt_overload_update;
identifier rq, donor, waits;
expression E;
typedef bool, u8;
@@
 void rt_overload_update(struct rq *rq, const struct task_struct *donor)
 {
	...
	bool waits = E;
+	u8 state = RTO_NONE;

-	if (likely(waits == rq->rt.overloaded))
+	if (waits)
+		state = rq->rt.may_leave ? RTO_LEAVES : RTO_STAYS;
+	if (likely(state == rq->rt.overloaded))
		return;
-	rq->rt.overloaded = waits;
-	if (waits)
-		rt_set_overload(rq);
-	else
-		rt_clear_overload(rq);
+	rq->rt.overloaded = state;
+	if (rq->online)
+		rto_set(&rq->rd->rto, rq->cpu, state);
 }

@@
identifier enqueue_pushable_task = enqueue_pushable_task;
identifier rq, p;
expression running;
typedef bool;
iterator name for_each_cpu_wrap;
@@
+/* May @p run outside of the shard of its CPU? */
+static bool rt_task_may_leave(struct task_struct *p)
+{
+	int cpu;
+
+	if (nr_cpu_slots == SHARD_SLOTS)
+		return false;
+	if (p->nr_cpus_allowed > SHARD_SLOTS)
+		return true;
+	/* Often the last CPU or the first one is in another shard. */
+	for_each_cpu_wrap(cpu, &p->cpus_mask, cpumask_last(&p->cpus_mask))
+		if (!cpus_share_shard(cpu, task_cpu(p)))
+			return true;
+	return false;
+}
+
 static void enqueue_pushable_task(struct rq *rq, struct task_struct *p)
 {
	...
+	/* Until no task is pushable: it may be up in vain. */
+	rq->rt.may_leave = rq->rt.may_leave || rt_task_may_leave(p);
	rt_overload_update(rq, running);
 }

@@
identifier dequeue_pushable_task = dequeue_pushable_task;
identifier rq;
expression E;
@@
 dequeue_pushable_task(struct rq *rq, ...)
 {
	<...
	rq->rt.highest_prio.next = E - 1;
+	rq->rt.may_leave = false;
	...>
 }

@@
identifier rto_next_cpu = rto_next_cpu;
expression rd;
@@
 rto_next_cpu(...)
 {
	<...
-	cpumask_next(rd->rto_cpu, rd->rto_mask)
+	rto_next(&rd->rto, rd->rto_cpu)
	...>
 }

@@
identifier pull_rt_task = pull_rt_task;
identifier this_rq, cpu, count;
iterator name for_each_cpu;
iterator name for_each_rto_cpu;
statement S;
@@
 pull_rt_task(struct rq *this_rq)
 {
	...
-	int count = rt_overloaded(this_rq);
	if (likely(
-	!count
+	!rto_others(&this_rq->rd->rto, this_cpu)
	))
		return;
-	smp_rmb();
-	if (count == 1 && cpumask_test_cpu(this_rq->cpu, this_rq->rd->rto_mask))
-		return;
	...
-	for_each_cpu(cpu, this_rq->rd->rto_mask)
+	for_each_rto_cpu(cpu, &this_rq->rd->rto, this_cpu)
	S
	...
 }

@@
identifier rq_online_rt = rq_online_rt;
identifier rq;
@@
 rq_online_rt(struct rq *rq)
 {
-	if (rq->rt.overloaded)
-		rt_set_overload(rq);
+	rto_set(&rq->rd->rto, rq->cpu, rq->rt.overloaded);
	...
 }

@@
identifier rq_offline_rt = rq_offline_rt;
identifier rq;
@@
 rq_offline_rt(struct rq *rq)
 {
-	if (rq->rt.overloaded)
-		rt_clear_overload(rq);
+	rto_set(&rq->rd->rto, rq->cpu, RTO_NONE);
	...
 }
