// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/topology.c: the set is allocated and freed with the root domain.

@@
expression rd;
@@
-free_cpumask_var(rd->rto_mask);
+rto_cleanup(&rd->rto);

@@
expression rd;
@@
-!zalloc_cpumask_var(&rd->rto_mask, GFP_KERNEL)
+rto_init(&rd->rto)
