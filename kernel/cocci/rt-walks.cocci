// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: walks of shards and of the machine (rt_walk.c) instead of one walk.

// The loop over all CPUs goes, and the comment on it.

@@
identifier rto_next_cpu = rto_next_cpu;
@@
+#include "rt_walk.c"
-static int rto_next_cpu(...) { ... }

@@
identifier rto_start_trylock = rto_start_trylock;
typedef bool;
@@
-static inline bool rto_start_trylock(...) { ... }

@@
identifier rto_start_unlock = rto_start_unlock;
@@
-static inline void rto_start_unlock(...) { ... }

@@
identifier tell_cpu_to_push = tell_cpu_to_push;
@@
-static void tell_cpu_to_push(...) { ... }

@@
identifier rto_push_irq_work_func = rto_push_irq_work_func;
@@
-void rto_push_irq_work_func(...) { ... }

@@
expression rq;
@@
-	tell_cpu_to_push(rq);
+	rt_walks_request(rq, who);
