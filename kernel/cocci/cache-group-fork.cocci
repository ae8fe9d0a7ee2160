// SPDX-License-Identifier: GPL-2.0-only
// kernel/fork.c of 7.3: a mm gets a cache group without memory of any CPU.

@@
@@
 #include <linux/sched/mm.h>
+#include <linux/sched/cache_group.h>

@@
expression mm;
@@
-	mm_alloc_sched(mm)
+	mm_alloc_cache_group(mm)
