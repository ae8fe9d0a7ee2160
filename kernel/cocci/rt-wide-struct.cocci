// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: rt_rq, for rt-wide.cocci.

@@
@@
 struct rt_rq {
 	...
 	u8 overloaded;
+	unsigned int nr_wide;
 	...
 };

@@
@@
 #include "rt_overload.h"
+#include "rt_wide.h"
