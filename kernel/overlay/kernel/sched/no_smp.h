/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Without CONFIG_SMP this version of the scheduler has no pushing and pulling, and shares nothing.
 */
#ifndef _KERNEL_SCHED_NO_SMP_H
#define _KERNEL_SCHED_NO_SMP_H

static inline void rt_overload_tick(struct rq *rq) { }

#endif /* _KERNEL_SCHED_NO_SMP_H */
