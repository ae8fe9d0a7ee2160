// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h, core.c of 7.3: a run queue has one word, the runtime of all its threads with its
// epoch. A writer holds rq->lock; scans read it. It takes over the attribute, a line of its own, of
// the lock that stood there.

@@
typedef u64, raw_spinlock_t;
attribute name ____cacheline_aligned;
@@
 struct rq {
 	...
-	raw_spinlock_t cpu_epoch_lock;
-	u64 cpu_runtime;
-	unsigned long cpu_epoch;
-	unsigned long cpu_epoch_next;
+	u64 cpu_runtime;
 	...
 };

@@
expression rq;
@@
-	raw_spin_lock_init(&rq->cpu_epoch_lock);
-	rq->cpu_epoch_next = jiffies;
