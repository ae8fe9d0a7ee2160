// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/core.c: a task's new mask updates the shards and places that it may use.

@@
identifier set_cpus_allowed_common = set_cpus_allowed_common;
identifier p;
@@
 set_cpus_allowed_common(struct task_struct *p, ...)
 {
	...
	p->nr_cpus_allowed = ...;
+	rto_reach(&p->cpus_mask, &p->rt.shards, &p->rt.places);
	...
 }
