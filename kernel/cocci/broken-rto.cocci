// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c, broken on purpose: a queue does not say that a waiting task may leave its shard.
// For the test of the checker.

@@
expression rq, p;
@@
-rq->rt.may_leave = rq->rt.may_leave || rt_task_may_leave(p);
+rq->rt.may_leave = false;
