// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: levels of CPUs from lib/schedshard/cpupri.c.

// cpupri_set() has no barrier any more, and the two that a fall and a waiting task need come here.

@@
identifier rt_overloaded = rt_overloaded;
expression count;
@@
 rt_overloaded(...)
 {
+	/* F2: pairs with P2 in rt_set_overload(). A CPU that falls stored its level before. */
+	smp_mb();
 	return atomic_read(count);
 }

@@
identifier rt_set_overload = rt_set_overload;
expression count;
@@
 rt_set_overload(...)
 {
 	...
 	atomic_inc(count);
+	/* P2: pairs with F2 in rt_overloaded(). The search for a lower CPU comes after this. */
+	smp_mb__after_atomic();
 }

@@
identifier rq_level_prio = rq_level_prio;
@@
-static int rq_level_prio(...) { ... }

@@
identifier inc_rt_prio_smp = {inc_rt_prio_smp, dec_rt_prio_smp};
expression rq, prio;
@@
 inc_rt_prio_smp(...)
 {
 	<...
-	if (rq->online && prio)
-		cpupri_set(&rq->rd->cpupri, rq->cpu, ...);
+	if (prio)
+		rq_level_update(rq);
 	...>
 }

@@
identifier rq_online_rt = rq_online_rt;
expression rq;
@@
 rq_online_rt(...)
 {
 	...
-	cpupri_set(&rq->rd->cpupri, rq->cpu, rq_level_prio(rq));
+	rq_level_update(rq);
 }

@@
identifier rq_offline_rt = rq_offline_rt;
expression rq;
@@
 rq_offline_rt(...)
 {
 	...
-	cpupri_set(&rq->rd->cpupri, rq->cpu, CPUPRI_INVALID);
+	rq_level_set(rq, CPUPRI_INVALID);
 }

@@
expression rq, p;
@@
-cpupri_find(&rq->rd->cpupri, p, NULL)
+rt_find_lower(rq, p)

@@
expression p, mask;
@@
-cpupri_find(&task_rq(p)->rd->cpupri, p, mask)
+rt_find_lowest(p, mask, NULL)

@@
expression p, mask;
@@
-cpupri_find_fitness(&task_rq(p)->rd->cpupri, p, mask, rt_task_fits_capacity)
+rt_find_lowest(p, mask, rt_fits)

@@
identifier find_lowest_rq = find_lowest_rq;
typedef u32, bool;
@@
+static bool rt_fits(u32 cpu, void *p)
+{
+	return rt_task_fits_capacity(p, cpu);
+}
+
 static int find_lowest_rq(...)
 {
 	...
 }
