// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/core.c: a new task is on no list. Under proxy execution its parent may run while it is on one.

@@
expression p;
@@
 plist_node_init(&p->pushable_tasks, MAX_PRIO);
+p->sched_rt_wide = 0;
