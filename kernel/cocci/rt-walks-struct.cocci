// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: root_domain, for rt-walks.cocci. A walk takes no reference.

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
@@
-extern void rto_push_irq_work_func(struct irq_work *work);

@@
@@
-extern void sched_get_rd(struct root_domain *rd);

@@
@@
-extern void sched_put_rd(struct root_domain *rd);

@@
@@
 #include "rt_overload.h"
+#include "rt_walk.h"
