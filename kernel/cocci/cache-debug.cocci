// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/cache_internal.h, cache.c, cache_scan.c: where the checks are called.

@@
@@
 #include "sched.h"
+#include "cache_debug.h"

@@
@@
 struct sched_cache {
 	struct visited *visited;
+	/** @shadow: what is checked against, or NULL */
+	struct sched_cache_shadow *shadow;
 	...
 };

@@
identifier account = account;
identifier c, queue, cpu, epoch, ns;
@@
 account(struct sched_cache *c, u64 *queue, int cpu, u32 epoch, u64 ns)
 {
-	return visited_account(c->visited, queue, cpu, epoch, ns);
+	bool counted = visited_account(c->visited, queue, cpu, epoch, ns);
+
+	sched_cache_debug_account(c->shadow, cpu, epoch, ns, counted);
+	return counted;
 }

@@
identifier make = make;
identifier c;
@@
 make(...)
 {
 	...
+	c->shadow = sched_cache_debug_alloc();
 	c->preferred = -1;
 	...
 }

@@
identifier free_cache = free_cache;
identifier c;
@@
 free_cache(...)
 {
 	...
+	kvfree(c->shadow);
 	visited_free(c->visited);
 	...
 }

@@
identifier looked = looked;
@@
 struct sums {
 	...
 	u32 looked;
+	/** @check: of the scan, or NULL */
+	struct sched_cache_check *check;
 };

@@
identifier add = add;
identifier sums, cpu, word;
@@
 add(struct sums *sums, int cpu, u64 word)
 {
 	...
+	sched_cache_debug_found(sums->check, cpu);
 	sums->ran += ...;
 	...
 }

@@
identifier sum_visited = sum_visited;
identifier sums;
@@
 sum_visited(struct sums *sums, ...)
 {
 	...
+	sched_cache_debug_visited(sums->check);
 	while (...) { ... }
 	...
 }

@@
identifier scan = scan;
identifier c, sums, timeout;
@@
+sums.check = sched_cache_debug_begin(c->shadow, sums.epoch, timeout, READ_ONCE(c->preferred));
-scan(c, &sums, timeout);
+sched_cache_debug_end(sums.check, scan(c, &sums, timeout) ? &sums.o : NULL);
