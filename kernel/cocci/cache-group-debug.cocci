// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/cache_group.h, cache_group.c, fair.c of 7.3: the check looks at scans.

@@
@@
 struct cache_group {
 	...
 	struct visited *visited;
+	/* Of the check, or NULL. */
+	struct cache_group_shadow *shadow;
 };

@@
@@
 #include "cache_group.h"
+#include "cache_group_debug.h"

@@
identifier cache_group_free = cache_group_free;
expression group;
@@
 cache_group_free(...)
 {
 	...
+	kvfree(group->shadow);
 	kfree(group);
 }

@@
expression group, v;
@@
+	cache_group_shadow_make(group);
 	if (cmpxchg(&group->visited, NULL, v))
 		visited_free(v);

@@
typedef u32;
expression v, queue, cpu, delta, epoch;
@@
-	visited_account(v, queue, cpu, (u32)epoch, delta);
+	if (visited_account(v, queue, cpu, (u32)epoch, delta))
+		cache_group_shadow_account(group, cpu, epoch, delta);
+	else
+		cache_group_shadow_put_off(group);

// ---- fair.c
@@
identifier task_cache_work = task_cache_work;
iterator name scoped_guard;
@@
 task_cache_work(...)
 {
 	...
 	unsigned long curr_m_a_occ = 0;
+	bool looked = false;
 	...
 }

@@
iterator name scoped_guard;
expression cpus, grp;
@@
 	if (!cache_group_walk(grp, cpus))
 		return;
 	scoped_guard (rcu) {
+		looked = cache_group_check_begin(grp, cpus);
 		...
 	}

@@
expression best, present;
@@
+	cache_group_check_end(grp, looked, m_a_cpu, best, present);
 	if (best > (2 * present)) {
 		...
 	}
