// SPDX-License-Identifier: GPL-2.0-only
// include/linux/dcache.h: the reference count beside what a path walk reads, as until Linux 6.11.

@@
@@
 struct dentry {
 	...
 	union shortname_store d_shortname;
+	struct lockref d_lockref;
 	...
-	struct lockref d_lockref;
 	...
 };
