/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rival "split": all counts of struct cpupri, then all masks. The count that changes most, of
 * CPUs without RT tasks, has a line of its own; counts and masks share none.
 */
#ifndef _KERNEL_SCHED_RIVALS_CPUPRI_SPLIT_H
#define _KERNEL_SCHED_RIVALS_CPUPRI_SPLIT_H

struct cpupri {
	atomic_t normal ____cacheline_aligned;
	atomic_t above[CPUPRI_NR_PRIORITIES - 1] ____cacheline_aligned;
	cpumask_var_t mask[CPUPRI_NR_PRIORITIES] ____cacheline_aligned;
	int *cpu_to_pri;
};

/* What belongs to one level. */
struct cpupri_vec {
	atomic_t *count;
	cpumask_var_t *mask;
};

static inline struct cpupri_vec cpupri_vec(struct cpupri *cp, int idx)
{
	return (struct cpupri_vec){
		.count = idx ? &cp->above[idx - 1] : &cp->normal,
		.mask = &cp->mask[idx],
	};
}

#endif /* _KERNEL_SCHED_RIVALS_CPUPRI_SPLIT_H */
