// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/build_utility.c: lib/schedshard has the code.

@@
@@
-#include "cpupri.c"
