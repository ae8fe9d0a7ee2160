// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/fair.c: a CPU that stops its tick writes the flags of nohz only when they are clear.

@@
identifier nohz_balance_enter_idle = nohz_balance_enter_idle;
identifier flag = {has_blocked, has_blocked_load, needs_update};
@@
 nohz_balance_enter_idle(...)
 {
 	<+...
-	WRITE_ONCE(nohz.flag, 1);
+	if (!READ_ONCE(nohz.flag))
+		WRITE_ONCE(nohz.flag, 1);
 	...+>
 }

@@
identifier nohz_balance_enter_idle = nohz_balance_enter_idle;
expression rq;
@@
 nohz_balance_enter_idle(...)
 {
 	...
-	if (rq->nohz_tick_stopped)
+	if (rq->nohz_tick_stopped) {
+		/*
+		 * If nohz_idle_balance() misses our rq->has_blocked_load, we
+		 * must see it clear the flag. Pairs with its smp_mb().
+		 */
+		smp_mb();
 		goto out;
+	}
 	...
 }
