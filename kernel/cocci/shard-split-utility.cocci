// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/build_utility.c: the option comes before the code that it changes.

@@
@@
+#include "shard_split.h"
 #include "cpu_slot.c"
