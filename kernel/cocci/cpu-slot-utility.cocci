// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/build_utility.c: where the code is compiled.

@@
@@
+#include <linux/sort.h>
 #include <linux/spinlock_api.h>

@@
@@
+#include "cpu_slot.c"
 #include "cpupri.c"
