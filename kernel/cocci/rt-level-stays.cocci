// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: the level of a queue with a deadline task does not follow its RT tasks.

@@
identifier inc_rt_prio_smp = inc_rt_prio_smp;
expression R, prio;
@@
+static int rq_level_prio(struct rq *rq)
+{
+	/* Until dec_dl_deadline() sees the last deadline entity leave. */
+	return rq->dl.dl_nr_running ? CPUPRI_HIGHER : rq->rt.highest_prio.curr;
+}
+
 static void inc_rt_prio_smp(...)
 {
 	<+...
	cpupri_set(&R->rd->cpupri, R->cpu,
-		   prio
+		   rq_level_prio(R)
		  );
 	...+>
 }

@@
identifier dec_rt_prio_smp = {dec_rt_prio_smp, rq_online_rt};
expression rq, E;
@@
 dec_rt_prio_smp(...)
 {
 	<...
	cpupri_set(&rq->rd->cpupri, rq->cpu,
-		   E
+		   rq_level_prio(rq)
		  );
 	...>
 }
