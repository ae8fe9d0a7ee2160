// SPDX-License-Identifier: GPL-2.0-only
// The plan is there when the scheduler makes its first root domain.
@ header @
@@
#include <linux/sched/init.h>
+#include <linux/schedshard/machine.h>

@ call depends on header @
@@
+schedshard_init();
sched_init();
