// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/topology.c: the slots are made before the first root domain.

@@
identifier init_defrootdomain = init_defrootdomain;
@@
 init_defrootdomain(...)
 {
+	cpu_slots_init();
	init_rootdomain(&def_root_domain);
	...
 }
