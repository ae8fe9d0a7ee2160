// SPDX-License-Identifier: GPL-2.0-only
// lib/schedshard/machine.c: options of the command line change the plan.

@@
@@
 #include <linux/schedshard/shard_plan_make.h>
+#include "options.h"

@@
expression rec, n;
@@
-shard_plan_cut(rec, n, SHARD_MAX_CAP);
+schedshard_split_llcs(rec, n);
+head.split_llc = schedshard_split;
+shard_plan_cut(rec, n, schedshard_cap);
