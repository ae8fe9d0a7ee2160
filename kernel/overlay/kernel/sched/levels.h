/* SPDX-License-Identifier: GPL-2.0-only */
/* The type that struct root_domain needs for CPUs' levels. The classes call rt_level.h. */
#ifndef _KERNEL_SCHED_LEVELS_H
#define _KERNEL_SCHED_LEVELS_H

#include <linux/schedshard/cpupri.h>

#endif /* _KERNEL_SCHED_LEVELS_H */
