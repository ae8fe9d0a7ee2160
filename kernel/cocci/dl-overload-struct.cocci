// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: the set in the root domain.

@@
typedef cpumask_var_t, atomic_t;
@@
 struct root_domain {
 	...
-	cpumask_var_t dlo_mask;
-	atomic_t dlo_count;
 	struct dl_bw dl_bw;
+	struct overload *dlo;
 	...
 };

@@
@@
 #include "rt_overload.h"
+#include "dl_overload.h"
