// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/topology.c: life of a root domain's deadline overload set.

@@
identifier rd;
statement S;
@@
-	if (!zalloc_cpumask_var(&rd->dlo_mask, GFP_KERNEL))
+	rd->dlo = overload_alloc(schedshard_plan);
+	if (!rd->dlo)
 		S

@@
expression rd;
@@
-free_cpumask_var(rd->dlo_mask);
+overload_free(rd->dlo);
