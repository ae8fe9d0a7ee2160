// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt_overload.h, nohz_idle.h: where the checks are called.

@@
@@
 #include <linux/schedshard/overload.h>
+#include "shard_debug.h"

@@
identifier rt_overload_update = rt_overload_update;
identifier rq, runner;
@@
 rt_overload_update(struct rq *rq, const struct task_struct *runner)
 {
 	...
 	if (rq->online)
 		rt_overload_publish(rq);
+	shard_debug_rq(rq);
 }

@@
@@
 #include <linux/schedshard/sbm.h>
+#include "shard_debug.h"

@@
identifier nohz_idle_alloc = nohz_idle_alloc;
@@
 nohz_idle_alloc(...)
 {
 	...
+	shard_debug_idle(set);
 	return set;
 }
