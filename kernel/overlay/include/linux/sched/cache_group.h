/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Creation of a process's cache group, without memory for any CPU: kernel/sched/cache_group.h.
 */
#ifndef _LINUX_SCHED_CACHE_GROUP_H
#define _LINUX_SCHED_CACHE_GROUP_H

#include <linux/mm_types.h>

#ifdef CONFIG_SCHED_CACHE
static inline int mm_alloc_cache_group(struct mm_struct *mm)
{
	return mm_init_sched(mm, NULL);
}
#else
static inline int mm_alloc_cache_group(struct mm_struct *mm)
{
	return 0;
}
#endif

#endif /* _LINUX_SCHED_CACHE_GROUP_H */
