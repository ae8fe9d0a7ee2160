// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: the scheduler's files know the slots of CPUs.

@@
@@
 #include <linux/sched.h>
+#include <linux/sched/cpu_slot.h>
