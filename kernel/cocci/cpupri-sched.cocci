// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h, build_utility.c: where the code comes from.

@@
@@
-#include "cpupri.h"
+#include <linux/schedshard/cpupri.h>

@@
@@
 #include "rt_overload.h"
+#include "rt_level.h"

@@
@@
-#include "cpupri.c"
