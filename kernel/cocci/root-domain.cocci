// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: struct root_domain by heat.

@@
@@
+#include "root_domain.h"
-struct root_domain { ... };
