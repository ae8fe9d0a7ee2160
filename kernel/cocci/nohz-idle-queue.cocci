// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: a run queue knows the place of its CPU's bit, for nohz-idle.cocci. There is
// room after nohz_csd, on the line that a CPU writes in any case when it joins or leaves the set.

@@
@@
 #include "cpudeadline.h"
+#include <linux/schedshard/sbm.h>

@@
typedef call_single_data_t;
@@
 struct rq {
 	...
 	call_single_data_t nohz_csd;
+	struct sbm_place nohz_place;
 	...
 };
