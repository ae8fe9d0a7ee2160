// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h, fair.c of 6.12: without CONFIG_SMP there are no root domains and no set of
// idle CPUs.

@@
@@
+#ifdef CONFIG_SMP
 #include "rt_level.h"
+#endif

@@
@@
+#ifdef CONFIG_SMP
 #include "nohz_idle.h"
+#endif
