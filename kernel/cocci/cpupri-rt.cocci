// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: cpupri_set() no longer has a barrier. This adds the one that a CPU whose
// priority drops needs.

@@
identifier rt_overloaded = rt_overloaded;
expression count;
@@
 rt_overloaded(...)
 {
+	/* F2 in cpupri.c: a CPU whose level drops has stored it before. */
+	smp_mb();
 	return atomic_read(count);
 }
