// SPDX-License-Identifier: GPL-2.0-only
// lib/schedshard/shard_summary.c, broken on purpose: the clean-up trusts what was seen before it
// took the bit away, as it would if the barrier between the two were missing, and there is time in
// between for a line to be filled. For the test of the checker.

@@
@@
 #include "shard_summary.h"
+#include <linux/delay.h>

@@
@@
+mdelay(2);
 port_and64(word, ~occupied);

@@
@@
-READ_ONCE(line[i]) & bits
+false
