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
typedef cpumask_var_t;
@@
 struct root_domain {
 	...
-	cpumask_var_t rto_mask;
+	struct overload *rto;
 	...
 };

@@
typedef bool, u8;
@@
 struct rt_rq {
 	...
-	bool overloaded;
+	u8 overloaded;
 	...
 };

@@
@@
 #include "rt_level.h"
+#include "rt_overload.h"

@@
identifier rt_overload_update = rt_overload_update;
@@
-extern void rt_overload_update(...);

@@
identifier rt_overload_ease = rt_overload_ease;
@@
-extern void rt_overload_ease(...);
