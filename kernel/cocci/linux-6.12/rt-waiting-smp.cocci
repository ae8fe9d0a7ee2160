// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h of 6.12: without CONFIG_SMP there is no CPU to push to.

@@
identifier rt_overload_donor = rt_overload_donor;
identifier rq, donor;
@@
 rt_overload_donor(struct rq *rq, const struct task_struct *donor)
 {
+#ifdef CONFIG_SMP
 	if (...) rt_overload_update(rq, donor);
+#endif
 }
