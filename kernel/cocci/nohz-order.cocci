// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/fair.c: the load of a CPU whose tick is stopped already is visible before the flag.

@@
identifier nohz_balance_enter_idle = nohz_balance_enter_idle;
expression rq;
@@
 nohz_balance_enter_idle(...)
 {
 	...
-	if (rq->nohz_tick_stopped)
+	if (rq->nohz_tick_stopped) {
+		/* nohz_idle_balance() that clears the flag sees the load. */
+		smp_mb();
 		goto out;
+	}
 	...
 }
