// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c, broken on purpose: a queue does not say that a waiting task may leave its shard.
// For the test of the checker.

@@
expression rq, p;
@@
-WRITE_ONCE(rq->rt.shards, rq->rt.shards | p->rt.shards);
+WRITE_ONCE(rq->rt.shards, cpu_shard_bit(rq->cpu));
