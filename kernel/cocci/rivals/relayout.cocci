// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/sched.h: struct root_domain regrouped.

@@
@@
+#include "rivals/root_domain_relayout.h"
-struct root_domain { ... };
