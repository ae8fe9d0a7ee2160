// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/fair.c: the tick accounts what the running thread ran, and asks for a scan.

@@
identifier task_tick_fair = task_tick_fair;
identifier rq, curr;
@@
 task_tick_fair(struct rq *rq, struct task_struct *curr, ...)
 {
 	...
+	sched_cache_tick(rq, curr);
 	update_misfit_status(curr, rq);
 	...
 }
