/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef _KERNEL_SCHED_CPUPRI_H
#define _KERNEL_SCHED_CPUPRI_H

#include <linux/cpumask.h>
#include <linux/sched/rt.h>

#define CPUPRI_INVALID (-1)
#define CPUPRI_NORMAL  0
/* 1 to 99 are the levels of RT tasks. */
#define CPUPRI_HIGHER 100

struct cpupri {
	/* By slot. Every search reads the pointer, so it shares no hot line. */
	u8 *level ____cacheline_aligned;
};

int cpupri_find(struct cpupri *cp, struct task_struct *p,
		struct cpumask *lowest_mask);
int cpupri_find_fitness(struct cpupri *cp, struct task_struct *p,
			struct cpumask *lowest_mask,
			bool (*fitness_fn)(struct task_struct *p, int cpu));
void cpupri_set(struct cpupri *cp, int cpu, int prio);
int cpupri_init(struct cpupri *cp);
void cpupri_cleanup(struct cpupri *cp);

#endif /* _KERNEL_SCHED_CPUPRI_H */
