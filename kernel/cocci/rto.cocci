// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: rto.h has the functions for overloaded queues.

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
identifier init_rt_rq = init_rt_rq;
identifier rt_rq;
@@
 init_rt_rq(struct rt_rq *rt_rq)
 {
	<...
-	rt_rq->overloaded = 0;
+	if (IS_ENABLED(CONFIG_SMP))
+		rt_rq->push_work = IRQ_WORK_INIT_HARD(rto_push_irq_work_func);
	...>
 }

@@
identifier rt_overload_update = rt_overload_update;
identifier rq, donor, waits;
expression E;
typedef bool;
@@
 void rt_overload_update(struct rq *rq, const struct task_struct *donor)
 {
	...
	bool waits = E;

-	if (likely(waits == rq->rt.overloaded))
-		return;
+	rto_publish(&rq->rd->rto, rq->cpu, &rq->rt.rto,
+		    waits && rq->online ? rq->rt.shards : 0);
-	rq->rt.overloaded = waits;
-	if (waits)
-		rt_set_overload(rq);
-	else
-		rt_clear_overload(rq);
 }

@@
identifier tell_cpu_to_push = tell_cpu_to_push;
expression rq;
@@
 tell_cpu_to_push(...)
 {
	<...
-	rq->rt.overloaded
+	rq->rt.rto.shards
	...>
 }

@@
identifier enqueue_pushable_task = enqueue_pushable_task;
identifier rq, p;
expression running;
typedef u64, bool;
@@
+/* May a task come from @src_rq? Without its lock, see pull_rt_task(). */
+static bool rt_may_come(const struct rq *rq, const struct rq *src_rq)
+{
+	u64 shards = READ_ONCE(src_rq->rt.shards);
+	u64 places = READ_ONCE(src_rq->rt.places);
+
+	if (src_rq->rt.highest_prio.next >= rq->rt.highest_prio.curr)
+		return false;
+	return src_rq != rq && rto_reaches(shards, places, rq->cpu);
+}
+
 static void enqueue_pushable_task(struct rq *rq, struct task_struct *p)
 {
	...
+	/* Until no task is pushable: some may have left. */
+	WRITE_ONCE(rq->rt.shards, rq->rt.shards | p->rt.shards);
+	WRITE_ONCE(rq->rt.places, rq->rt.places | p->rt.places);
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
+	WRITE_ONCE(rq->rt.shards, 0);
+	WRITE_ONCE(rq->rt.places, 0);
	...>
 }

@@
identifier rto_start_trylock = rto_start_trylock;
identifier v;
iterator name for_each_rto_cpu;
typedef u64, bool, atomic_t;
@@
+/* Ask few queues to push, by an interrupt each. Return: false: ask by a walk. */
+static bool rt_ask_few(struct rq *rq, u64 from)
+{
+	int asked[8];
+	int n = 0, cpu;
+
+	if (from == ~0ull)
+		return false;
+	for_each_rto_cpu(cpu, &rq->rd->rto, rq->cpu, from) {
+		if (!rt_may_come(rq, cpu_rq(cpu)))
+			continue;
+		if (n == ARRAY_SIZE(asked))
+			return false;
+		asked[n++] = cpu;
+	}
+	while (n--)
+		irq_work_queue_on(&cpu_rq(asked[n])->rt.push_work, asked[n]);
+	return true;
+}
+
 static inline bool rto_start_trylock(atomic_t *v)
 {
 	...
 }

@@
identifier rto_push_irq_work_func = rto_push_irq_work_func;
identifier rq, work;
expression E;
@@
 void rto_push_irq_work_func(struct irq_work *work)
 {
	...
	if (has_pushable_tasks(rq)) { ... }
-	raw_spin_lock(E);
+	if (work == &rq->rt.push_work)
+		return;
+	raw_spin_lock(E);
	...
 }

@@
identifier tell_cpu_to_push = tell_cpu_to_push;
expression E;
@@
 tell_cpu_to_push(...)
 {
	...
+	smp_mb__before_atomic(); /* a walk sees what rto_others() saw */
	atomic_inc(E);
	...
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
expression src, dst;
@@
 pull_rt_task(...)
 {
	<...
-	src->rt.highest_prio.next >= dst->rt.highest_prio.curr
+	!rt_may_come(dst, src)
	...>
 }

@@
identifier pull_rt_task = pull_rt_task;
expression rq;
@@
 pull_rt_task(...)
 {
	<...
-	tell_cpu_to_push(rq);
+	if (!rt_ask_few(rq, from))
+		tell_cpu_to_push(rq);
	...>
 }

@@
identifier pull_rt_task = pull_rt_task;
identifier this_rq, cpu, count;
iterator name for_each_cpu;
iterator name for_each_rto_cpu;
statement S;
typedef u64;
@@
 pull_rt_task(struct rq *this_rq)
 {
	...
-	int count = rt_overloaded(this_rq);
+	u64 from;
	if (likely(
-	!count
+	!rto_others(&this_rq->rd->rto, this_cpu, &from)
	))
		return;
-	smp_rmb();
-	if (count == 1 && cpumask_test_cpu(this_rq->cpu, this_rq->rd->rto_mask))
-		return;
	...
-	for_each_cpu(cpu, this_rq->rd->rto_mask)
+	for_each_rto_cpu(cpu, &this_rq->rd->rto, this_cpu, from)
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
+	rt_overload_update(rq, rq->donor);
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
+	rto_publish(&rq->rd->rto, rq->cpu, &rq->rt.rto, 0);
	...
 }
