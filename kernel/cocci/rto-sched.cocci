// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: a byte per CPU instead of a count and a mask.

@@
@@
 #include "cpupri.h"
+#include "rto.h"

@@
typedef bool, u64;
@@
 struct rt_rq {
	...
-	bool overloaded;
+	u64 shards;
+	u64 places;
+	struct rto_rq rto;
+	struct irq_work push_work;
	...
 };

@@
typedef atomic_t, cpumask_var_t;
@@
 struct root_domain {
	...
-	atomic_t rto_count;
	...
-	cpumask_var_t rto_mask;
+	struct rto rto;
	...
 };

@@
@@
-extern void rto_push_irq_work_func(struct irq_work *work);

@@
@@
+extern void rto_push_irq_work_func(struct irq_work *work);
 extern void init_sched_rt_class(void);
