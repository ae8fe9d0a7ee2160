// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c, broken on purpose: a queue that loses its best RT task does not say so. For the
// test of the checker.

@@
identifier dec_rt_prio_smp = dec_rt_prio_smp;
expression E, cp, cpu, prio;
@@
 dec_rt_prio_smp(...)
 {
 	<...
-	if (E)
-		cpupri_set(cp, cpu, prio);
 	...>
 }
