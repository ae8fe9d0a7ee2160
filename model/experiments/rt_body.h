/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * rt_body.h - shared by the experiments on the RT class. It turns parameters into costs, a
 * variant's name into a layout, and the scheduler's counts into figures.
 */
#ifndef EXPERIMENTS_RT_BODY_H
#define EXPERIMENTS_RT_BODY_H

#include "experiment.h"
#include "rt/rt.h"

/* Every layout, and "partition": stock with one root domain per instance. */
extern const char *const rt_variants[];
extern const char *const rt_variants_global[]; /* without partition: nothing is pinned */

/* Parameters of all RT experiments; each experiment appends its own and a NULL. */
#define RT_PARAMS                                                                               \
	"syscall_ns", "futex_ns", "schedule_ns", "context_switch_ns", "queue_ns", "wake_ns",    \
		"ipi_send_ns", "ipi_travel_ns", "irq_ns", "idle_exit_ns", "tick_ns", "tick_us", \
		"push_ipi", "warm_up_us", "measured_us"

/**
 * rt_body_create - make a scheduler for the run's variant and parameters.
 *
 * Return: NULL after run_fail().
 */
struct rt *rt_body_create(struct run *run);

static inline u64 rt_body_ps(const struct run *run, const char *us)
{
	return (u64)(run_param(run, us) * 1e6);
}

/**
 * rt_body_phase - start the measurement if the warm-up is over, stop the run if its end has come.
 * Nothing happens between calls, so each thread's program (rt.h) calls this often.
 *
 * Return: true during the measurement.
 */
struct rt_phase {
	u64 begin, end; /* picoseconds */
	bool on, over;
};

struct rt_phase rt_body_phases(const struct run *run);
bool rt_body_phase(struct rt_cpu *me, struct rt_phase *phase);

/**
 * rt_body_report - report the figures that all RT experiments share, after @rt has run.
 */
void rt_body_report(struct run *run, const struct rt *rt, const struct rt_phase *phase);

/**
 * rt_body_groups - cut the simulated CPUs into groups of @size that share a package and, if an LLC
 * has enough CPUs, an LLC. A group has whole cores, if all their threads are simulated.
 *
 * Return: array of CPU numbers, group after group, which the caller frees; *@n groups, at least 1.
 * If there are fewer CPUs than @size, *@size becomes their number.
 */
u32 *rt_body_groups(const struct run *run, u32 *size, u32 *n);

#endif
