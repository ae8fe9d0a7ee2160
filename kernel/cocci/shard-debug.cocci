// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt_overload.c, nohz_idle.h: where the checks are called.

@@
@@
 #include "sched.h"
+#include "shard_debug.h"

@@
identifier rt_overload_change = rt_overload_change;
identifier rq;
@@
 rt_overload_change(struct rq *rq, ...)
 {
 	lockdep_assert_rq_held(rq);
+	/* What was said held until now, */
+	shard_debug_rq(rq);
 	...
 	if (rq->online)
 		rt_overload_publish(rq);
+	/* and so does what is said from now on. */
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
