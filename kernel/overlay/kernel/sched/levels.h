/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Levels of CPUs: lib/schedshard/cpupri.c, in place of the scheduler's own cpupri.c. This is what
 * struct root_domain needs; what the classes call is in rt_level.h.
 */
#ifndef _KERNEL_SCHED_LEVELS_H
#define _KERNEL_SCHED_LEVELS_H

#include <linux/schedshard/cpupri.h>

#endif /* _KERNEL_SCHED_LEVELS_H */
