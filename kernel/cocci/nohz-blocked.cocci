// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/fair.c: a CPU whose tick is stopped notes its load before it raises the flag of blocked
// load. In the set already, it passes no other barrier between the two.

@@
identifier nohz_balance_enter_idle = nohz_balance_enter_idle;
identifier rq;
@@
 nohz_balance_enter_idle(...)
 {
 	...
 	rq->has_blocked_load = 1;
+	/*
+	 * Pairs with the full barrier in _nohz_idle_balance(): the balancer that clears
+	 * the flag set below sees the load.
+	 */
+	smp_wmb();
 	...
 }
