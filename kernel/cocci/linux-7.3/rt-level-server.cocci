// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h, rt.c: a CPU pulls when a server's turn has ended, which lowers its level.

@@
identifier rt_queue_pull_task = rt_queue_pull_task;
identifier rq;
@@
-static inline
 void rt_queue_pull_task(struct rq *rq) { ... }

@@
@@
+void rt_queue_pull_task(struct rq *rq);
 static inline void put_prev_task(...) { ... }

@@
identifier __put_prev_set_next_dl_server = __put_prev_set_next_dl_server;
identifier rq, prev;
@@
 __put_prev_set_next_dl_server(struct rq *rq, struct task_struct *prev, ...)
 {
+	/* The level was CPUPRI_HIGHER during the turn. */
+	if (prev->dl_server && !rq->dl.dl_nr_running)
+		rt_queue_pull_task(rq);
 	prev->dl_server = NULL;
 	...
 }
