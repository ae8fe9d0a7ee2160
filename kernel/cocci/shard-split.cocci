// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/cpu_slot.c: an option of the command line cuts caches.

@@
identifier cpu_slots_init = cpu_slots_init;
expression place, n, size, order;
@@
 cpu_slots_init(...)
 {
	...
	sort(place, n, size, order, NULL);
+	shard_split_caches(place, n);
	...
	kfree(place);
+	shard_split_report();
 }
