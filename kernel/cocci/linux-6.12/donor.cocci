// SPDX-License-Identifier: GPL-2.0-only
// 6.12 has no proxy execution: the running task is also the scheduled one.

@@
expression rq;
@@
-rq->donor
+rq->curr
