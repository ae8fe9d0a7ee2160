// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: what placement adds to a run queue, and what load balancing calls.

@@
@@
 #include "cpudeadline.h"
+#include "cache_stray.h"

@@
@@
 struct rq {
 	...
 	struct sched_cache_rq cache;
+	struct sched_cache_stray cache_stray;
 	...
 };

@@
@@
 #include "cache.h"
+#include "cache_place.h"
