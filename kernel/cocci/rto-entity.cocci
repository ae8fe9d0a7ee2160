// SPDX-License-Identifier: GPL-2.0-only
// include/linux/sched.h: the shards and places that a task may use, for the state of its queue.

@@
attribute name __randomize_layout;
typedef u64;
@@
 struct sched_rt_entity {
	...
	unsigned short on_list;
+	u64 shards;
+	u64 places;
	...
 };
