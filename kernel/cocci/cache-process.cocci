// SPDX-License-Identifier: GPL-2.0-only
// include/linux/sched/signal.h: what the threads of a process share.

@@
attribute name __randomize_layout;
@@
 struct signal_struct {
 	...
 	struct list_head thread_head;
+	struct sched_cache_process sched_cache;
 	...
 } __randomize_layout;
