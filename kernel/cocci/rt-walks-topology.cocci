// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/topology.c: life of a root domain's walks.

@@
identifier free_rootdomain = free_rootdomain;
identifier rcu, rd;
@@
 free_rootdomain(struct rcu_head *rcu)
 {
 	struct root_domain *rd = ...;
+
+	if (!rt_walks_ended(rd)) {
+		call_rcu(rcu, free_rootdomain);
+		return;
+	}
 	...
+	rt_walks_free(rd);
 	overload_free(rd->rto);
 	...
 }

@@
@@
-void sched_get_rd(struct root_domain *rd) { ... }

@@
@@
-void sched_put_rd(struct root_domain *rd) { ... }

@@
identifier init_rootdomain = init_rootdomain;
identifier rd;
@@
 init_rootdomain(struct root_domain *rd)
 {
 	<...
-	rd->rto_cpu = -1;
-	raw_spin_lock_init(&rd->rto_lock);
-	rd->rto_push_work = IRQ_WORK_INIT_HARD(rto_push_irq_work_func);
+	if (!rt_walks_alloc(rd))
+		goto free_rto_mask;
 	...>
 }

@@
identifier init_rootdomain = init_rootdomain;
identifier rd;
@@
 init_rootdomain(struct root_domain *rd)
 {
 	<...
+	rt_walks_free(rd);
 	overload_free(rd->rto);
 	...>
 }
