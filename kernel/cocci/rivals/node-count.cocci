// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c, sched.h, topology.c: counts of overloaded CPUs by node, rivals/rto_counts.h.

@@
typedef atomic_t;
@@
 struct root_domain {
 	...
-	atomic_t rto_count;
+	struct rto_count **rto_counts;
 	...
 };

@@
@@
 #include "stats.h"
+#include "rivals/rto_counts.h"

@@
expression rd;
@@
-atomic_read(&rd->rto_count)
+rto_counts_sum(rd->rto_counts)

@@
expression rq;
@@
-atomic_inc(&rq->rd->rto_count)
+atomic_inc(&rq->rd->rto_counts[cpu_to_node(rq->cpu)]->n)

@@
expression rq;
@@
-atomic_dec(&rq->rd->rto_count)
+atomic_dec(&rq->rd->rto_counts[cpu_to_node(rq->cpu)]->n)

@@
identifier free_rootdomain = free_rootdomain;
identifier rd;
@@
 free_rootdomain(...)
 {
 	...
 	free_cpumask_var(rd->rto_mask);
+	rto_counts_free(rd->rto_counts);
 	...
 }

@@
identifier init_rootdomain = init_rootdomain;
identifier rd;
statement S;
@@
 init_rootdomain(struct root_domain *rd)
 {
 	<...
 	if (cpudl_init(&rd->cpudl) != 0)
 		S
+	rd->rto_counts = rto_counts_alloc();
+	if (!rd->rto_counts)
+		goto free_cpudl;
 	...>
 }

@@
identifier init_rootdomain = init_rootdomain;
identifier rd;
@@
 init_rootdomain(struct root_domain *rd)
 {
 	<...
 	cpudl_cleanup(&rd->cpudl);
+	rto_counts_free(rd->rto_counts);
 	...>
 }
