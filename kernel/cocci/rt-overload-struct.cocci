// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: root_domain and rt_rq, for rt-overload.cocci.

@@
typedef atomic_t;
@@
 struct root_domain {
 	...
-	atomic_t rto_count;
 	...
 };

@@
typedef raw_spinlock_t;
@@
 struct root_domain {
 	...
-	struct irq_work rto_push_work;
+	struct rt_walks *rto_walks;
-	raw_spinlock_t rto_lock;
-	int rto_loop;
-	int rto_cpu;
-	atomic_t rto_loop_next;
-	atomic_t rto_loop_start;
 	...
 };

@@
typedef cpumask_var_t;
@@
 struct root_domain {
 	...
-	cpumask_var_t rto_mask;
+	struct overload *rto;
 	...
 };

// Each pull reads that pointer; each change of level writes the counters that cpupri begins with.
@@
attribute name ____cacheline_aligned;
@@
 struct root_domain {
 	...
+	/* On another line than rto, which each pull reads. */
-	struct cpupri cpupri;
+	struct cpupri cpupri ____cacheline_aligned;
 	...
 };

@@
typedef bool, u8;
@@
 struct rt_rq {
 	...
-	bool overloaded;
+	u8 overloaded;
+	unsigned int nr_wide;
 	...
 };

@@
@@
-extern void rto_push_irq_work_func(struct irq_work *work);
+#include "rt_walk.h"

@@
@@
-extern void sched_get_rd(struct root_domain *rd);

@@
@@
-extern void sched_put_rd(struct root_domain *rd);

@@
@@
 #include "stats.h"
+#include "rt_overload.h"

@@
identifier rt_overload_update = rt_overload_update;
@@
-extern void rt_overload_update(...);

@@
identifier rt_overload_ease = rt_overload_ease;
@@
-extern void rt_overload_ease(...);
