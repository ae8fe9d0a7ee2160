// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: cpupri_set() no longer has a barrier. This adds the two that a CPU whose
// priority drops and a waiting task need.

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

// Not in rt_set_overload(): a queue that is overloaded already may get a task of higher priority.
@@
identifier next_task = next_task;
@@
 get_task_struct(next_task);
+/* P2 in cpupri.c, after the increment of a reference. */
+smp_mb__after_atomic();
