// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/core.c: the tick tidies up the overload set.

@@
identifier sched_tick = sched_tick;
@@
 sched_tick(...)
 {
 	...
 	perf_event_task_tick();
+	rt_overload_tick(rq);
 	...
 }
