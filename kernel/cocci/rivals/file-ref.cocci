// SPDX-License-Identifier: GPL-2.0-only
// include/linux/fs.h: the reference count beside what each use of a file reads, as until Linux 6.5.

@@
typedef fmode_t, file_ref_t;
@@
 struct file {
 	...
 	fmode_t f_mode;
+	file_ref_t f_ref;
 	...
-	file_ref_t f_ref;
 	...
 };
