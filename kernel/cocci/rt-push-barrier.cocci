// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: the barrier that a waiting task needs before the search for lower levels.

// Not in rt_set_overload(): a queue that is overloaded already may get a task of higher priority.
@@
identifier next_task = next_task;
@@
 get_task_struct(next_task);
+/* P2 in cpupri.c, after the increment of a reference. */
+smp_mb__after_atomic();
