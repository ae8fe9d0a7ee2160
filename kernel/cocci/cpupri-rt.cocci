// SPDX-License-Identifier: GPL-2.0-only
// kernel/sched/rt.c: cpupri_set() has no barrier any more. The two that a fall and a waiting task need
// come here.

@@
identifier rt_overloaded = rt_overloaded;
expression count;
@@
 rt_overloaded(...)
 {
+	/* F2 in cpupri.c: a CPU that falls has stored its level before. */
+	smp_mb();
 	return atomic_read(count);
 }

@@
identifier rt_set_overload = rt_set_overload;
expression count;
@@
 rt_set_overload(...)
 {
 	...
 	atomic_inc(count);
+	/* P2 in cpupri.c: the search for a lower CPU comes after this. */
+	smp_mb__after_atomic();
 }
