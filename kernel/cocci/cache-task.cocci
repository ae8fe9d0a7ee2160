// SPDX-License-Identifier: GPL-2.0-only
// include/linux/sched.h: what a thread has.

@@
@@
 #include <linux/kcsan.h>
+#include <linux/schedshard/cache.h>

@@
@@
 struct task_struct {
 	...
 	struct callback_head *task_works;
+	struct sched_cache_task sched_cache;
 	...
 };
