// SPDX-License-Identifier: GPL-2.0-only
// lib/schedshard/shard_summary.c, broken on purpose, for the test of the checker. The clean-up
// trusts what it saw before it took the bit away, as it would without the barrier between the two.
// A delay in between gives other CPUs time to fill a line.

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
