// SPDX-License-Identifier: GPL-2.0-only
// 6.12 has no proxy execution: who runs is whose turn it is.

@@
expression rq;
@@
-rq->donor
+rq->curr
