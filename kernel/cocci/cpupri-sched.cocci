// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: where the code comes from.

@@
@@
-#include "cpupri.h"
+#include <linux/schedshard/cpupri.h>

@@
@@
 #include "stats.h"
+#include "rt_level.h"
