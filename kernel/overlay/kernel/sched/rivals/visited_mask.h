/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A mask of visited CPUs after each cache group, as published for Linux, with
 * one difference. A CPU leaves the mask when its runtime has decayed to 0. The
 * published timeout would take a third word per CPU. A CPU that enters while a
 * scan removes it may be missing until it enters again.
 */
#ifndef _KERNEL_SCHED_RIVALS_VISITED_MASK_H
#define _KERNEL_SCHED_RIVALS_VISITED_MASK_H

static inline size_t visited_mask_room(void)
{
	return sizeof(struct sched_cache_group) + cpumask_size();
}

static inline struct cpumask *visited_mask(struct sched_cache_group *grp)
{
	return to_cpumask((unsigned long *)(grp + 1));
}

static inline void visited_mask_enter(struct sched_cache_group *grp, int cpu)
{
	if (!cpumask_test_cpu(cpu, visited_mask(grp)))
		cpumask_set_cpu(cpu, visited_mask(grp));
}

static inline void visited_mask_leave(struct sched_cache_group *grp, int cpu)
{
	cpumask_clear_cpu(cpu, visited_mask(grp));
}

#endif /* _KERNEL_SCHED_RIVALS_VISITED_MASK_H */
