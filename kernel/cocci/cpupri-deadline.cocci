// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/deadline.c: the same for queues with deadline tasks.

@@
expression rq;
@@
-cpupri_set(&rq->rd->cpupri, rq->cpu, CPUPRI_HIGHER);
+rq_level_set(rq, CPUPRI_HIGHER);

@@
expression rq;
@@
-cpupri_set(&rq->rd->cpupri, rq->cpu, rq->rt.highest_prio.curr);
+rq_level_update(rq);
