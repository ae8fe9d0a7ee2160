// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/cpupri.h, cpupri.c: the layout of rivals/cpupri_split.h.

@@
@@
-struct cpupri_vec { ... };

@@
@@
+#include "rivals/cpupri_split.h"
-struct cpupri { ... };

@@
identifier vec;
expression cp, i;
@@
-struct cpupri_vec *vec = &cp->pri_to_cpu[i];
+struct cpupri_vec vec = cpupri_vec(cp, i);

@@
expression cp, i;
@@
-cp->pri_to_cpu[i].mask
+cp->mask[i]

@@
identifier vec;
@@
-&(vec)->count
+vec.count

@@
identifier vec;
@@
-&vec->count
+vec.count

@@
identifier vec;
@@
-&vec->mask
+vec.mask

@@
identifier vec != cp;
@@
-vec->mask
+vec.mask[0]
