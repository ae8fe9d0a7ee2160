// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h, rt_overload.h: the set in the root domain, and its share of the tick.

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

@@
expression rd, cpu;
@@
 overload_tidy(rd->rto, cpu);
+overload_tidy(rd->dlo, cpu);
