// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: what a run queue has, and what the fair class calls.

@@
@@
 struct rq {
 	...
 	struct list_head cfs_tasks;
+	struct sched_cache_rq cache;
 	...
 };

@@
@@
 #include "ext.h"
+#include "cache.h"
