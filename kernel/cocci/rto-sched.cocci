// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: a byte per CPU instead of a count and a mask.

@@
@@
 #include "cpupri.h"
+#include "rto.h"

@@
typedef bool;
@@
 struct rt_rq {
	...
-	bool overloaded;
+	u8 overloaded;
+	bool may_leave;
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
