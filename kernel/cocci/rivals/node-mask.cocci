// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/cpupri.h, cpupri.c: masks of levels by node, rivals/cpupri_node.h.

@@
@@
+#include "rivals/cpupri_node.h"
-struct cpupri_vec { ... };

@@
expression allowed;
identifier vec;
@@
-cpumask_any_and(allowed, vec->mask) >= nr_cpu_ids
+!cpupri_nodes_intersect(vec, allowed)

@@
expression to, allowed;
identifier vec;
@@
-cpumask_and(to, allowed, vec->mask);
+cpupri_nodes_and(to, allowed, vec);

@@
expression cpu;
identifier vec;
@@
-cpumask_set_cpu(cpu, vec->mask);
+cpumask_set_cpu(cpu, cpupri_node_mask(vec, cpu));

@@
expression cpu;
identifier vec;
@@
-cpumask_clear_cpu(cpu, vec->mask);
+cpumask_clear_cpu(cpu, cpupri_node_mask(vec, cpu));

@@
identifier vec;
@@
-zalloc_cpumask_var(&vec->mask, GFP_KERNEL)
+cpupri_nodes_alloc(vec)

@@
expression cp, i;
@@
-free_cpumask_var(cp->pri_to_cpu[i].mask)
+cpupri_nodes_free(&cp->pri_to_cpu[i])
