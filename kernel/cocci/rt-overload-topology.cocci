// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/topology.c: life of a root domain's overload set.

@@
identifier free_rootdomain = free_rootdomain;
identifier rd;
@@
 free_rootdomain(...)
 {
 	<...
-	free_cpumask_var(rd->rto_mask);
+	overload_free(rd->rto);
 	...>
 }

@@
identifier init_rootdomain = init_rootdomain;
identifier rd;
statement S;
@@
 init_rootdomain(struct root_domain *rd)
 {
 	<...
-	if (!zalloc_cpumask_var(&rd->rto_mask, GFP_KERNEL))
+	rd->rto = overload_alloc(schedshard_plan);
+	if (!rd->rto)
 		S
 	...>
 }

@@
identifier init_rootdomain = init_rootdomain;
identifier rd;
@@
 init_rootdomain(struct root_domain *rd)
 {
 	<...
-	free_cpumask_var(rd->rto_mask);
+	overload_free(rd->rto);
 	...>
 }
