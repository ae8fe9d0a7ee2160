// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/core.c, kernel/fork.c, fs/exec.c: a thread begins, or stops running; a process ends, or
// becomes another.

@@
identifier prepare_task_switch = prepare_task_switch;
identifier rq, prev;
@@
 prepare_task_switch(struct rq *rq, struct task_struct *prev, ...)
 {
 	...
 	sched_info_switch(rq, prev, ...);
+	sched_cache_account(rq, prev);
 	...
 }

@@
identifier __sched_fork = __sched_fork;
expression clone_flags;
identifier p;
@@
 __sched_fork(...)
 {
 	<+...
 	init_numa_balancing(clone_flags, p);
+	sched_cache_fork(p);
 	...+>
 }

@@
identifier free_signal_struct = free_signal_struct;
identifier sig;
@@
 free_signal_struct(struct signal_struct *sig)
 {
 	...
 	sched_autogroup_exit(sig);
+	sched_cache_free(sig);
 	...
 }

@@
identifier begin_new_exec = begin_new_exec;
@@
 begin_new_exec(...)
 {
 	<+...
 	perf_event_exec();
+	sched_cache_exec();
 	...+>
 }
