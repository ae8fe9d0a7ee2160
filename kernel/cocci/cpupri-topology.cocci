// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/topology.c: the map is made from the machine's plan.

@@
expression cp;
@@
-cpupri_init(cp) != 0
+!cpupri_init(cp, schedshard_plan)
