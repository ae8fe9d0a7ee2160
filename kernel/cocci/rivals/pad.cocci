// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/cpupri.h: a level's count and mask on separate lines.

@@
attribute name ____cacheline_aligned;
typedef cpumask_var_t;
@@
 struct cpupri_vec {
 	...
-	cpumask_var_t mask;
+	cpumask_var_t mask ____cacheline_aligned;
 };
