/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * plans.h - the plans of this machine, and what happens when its CPUs change.
 *
 * The first call that needs a plan reads /sys; later calls find the plan ready. A plan never
 * changes and exists until the process ends. So hot-plug never invalidates a structure.
 *
 * create.h says which CPUs a plan covers. CPUs that are possible but not present use no memory. A
 * plan cannot know the caches of a CPU that has never been online, or CPUs that are plugged in
 * later. shard_plan_refresh() looks for both:
 *
 *	u32 generation = shard_plan_generation();
 *	struct sbm *idle = sbm_create();
 *
 *	once a minute, or when udev reports a CPU:
 *		shard_plan_refresh(NULL);
 *	at a convenient point of the program:
 *		if (shard_plan_generation() != generation)
 *			create the structures again, if it is worth the cost
 *
 * Each later plan contains all CPUs of the earlier ones, and what was known about a CPU that is
 * offline now stays known. So switching SMT off and on again makes no new plan, and the number of
 * CPUs bounds the number of plans.
 *
 * Concurrency: all calls may overlap, also in a forked child. Context: functions that make or
 * refresh a plan allocate memory and read files, and may not run in signal handlers; all others run
 * anywhere. Ordering: a thread that gets a plan sees its contents, and a thread that reads a
 * generation's number sees its plan; nothing else is ordered.
 */
#ifndef SCHEDSHARD_PLANS_H
#define SCHEDSHARD_PLANS_H

#include "port.h"
#include "shard_err.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "shard_topo.h"

/**
 * shard_plan_here() - the plan of this machine
 * @plan: receives the plan, which is never freed; not written on failure
 * @err: describes a failure in one line, or NULL
 *
 * This plan is for the functions that take one. If /sys is missing or not readable, the plan treats
 * all CPUs alike, and shard_plan_how() says so. After a failure the next call tries again.
 *
 * Return: 0; -ENOMEM; -EINVAL when /sys contradicts itself; or the error of reading a file.
 */
int shard_plan_here(const struct shard_plan **plan, struct shard_err *err);

/* Most CPUs on the line of a core, for slots: a core with more threads has several lines. */
#define SHARD_CAP_POOL 2u

/**
 * shard_plan_here_cap() - the plan of this machine with at most @cap CPUs per line
 * @cap: 1..64; 0: 64, the plan of shard_plan_here()
 * @plan: as for shard_plan_here(); the plan of a larger @cap if @cap would cut nothing more
 * @err: as for shard_plan_here()
 *
 * Return: as shard_plan_here(); also -EINVAL for @cap above 64.
 */
int shard_plan_here_cap(u32 cap, const struct shard_plan **plan, struct shard_err *err);

#define SHARD_MAX_ALLOWED 32u /* plans of shard_plan_here_allowed(), of one generation */

/**
 * shard_plan_here_allowed() - the plan of the CPUs on which the calling thread may run now
 * @cap: as for shard_plan_here_cap()
 * @plan: as for shard_plan_here(); callers with the same CPUs get the same plan
 * @err: as for shard_plan_here()
 *
 * This plan is for a process that permanently uses a few CPUs of a large machine. CPUs that a
 * cpuset, a container or an affinity forbids have no lines, and their numbers are holes. Once the
 * affinity has changed, shard_this_cpu() may return a hole. A claim or a search may start at a
 * hole, but a hole has no bit, so threads should use shard_plan_this_cpu() instead. Call this
 * function before threads are bound. After the affinity has changed, the next call returns another
 * plan. Since plans are never freed, the function makes only SHARD_MAX_ALLOWED such plans; after
 * that it returns the plan of all CPUs.
 *
 * Return: as shard_plan_here_cap().
 */
int shard_plan_here_allowed(u32 cap, const struct shard_plan **plan, struct shard_err *err);

/**
 * shard_plan_refresh() - look whether the machine's CPUs have changed, and make a new plan if so
 * @err: describes a failure in one line, or NULL
 *
 * Reads two files if no CPU came or went since the last call, else /sys as for the first plan.
 * Existing structures keep their plan. Later structures and shard_plan_here() use the new plan.
 *
 * Return: 1 if there is a new plan, or a first one, and 0 if the current plan is still right. Else
 * as shard_plan_here(), and the current plan stays.
 */
int shard_plan_refresh(struct shard_err *err);

/*
 * The number of the current plan: 0 before there is a plan, 1 for the first plan. Each
 * shard_plan_refresh() that makes a plan increments the number.
 */
u32 shard_plan_generation(void);

/**
 * shard_plan_how() - where the current plan comes from
 *
 * For a log line, in case a program is slower than it should be.
 *
 * Return: "caches in /sys", "/sys without caches", or "no /sys: all CPUs are alike"; empty before
 * there is a plan.
 */
const char *shard_plan_how(void);

/*
 * How many workers are useful: the number of CPUs of a plan on which the calling thread may run
 * now. It is lower if cpu.max of the thread's cgroup (version 2) or of a parent grants the time of
 * fewer CPUs (rounded up). At least 1; plan->nr_possible if the kernel does not say. It changes
 * with cpusets, hot-plug, affinity and cgroups. Reads a few files.
 */
u32 shard_nr_allowed(const struct shard_plan *plan);

/**
 * shard_this_cpu() - the CPU number that the calling thread uses now
 *
 * The thread may be on another CPU when this returns, unless it is bound to one. An update for the
 * old CPU then costs only a cache miss. With rseq (glibc 2.35 on) this is a load, else getcpu().
 *
 * Return: the CPU that the thread runs on, always a CPU of all plans of shard_plan_here(). If the
 * first plan does not contain that CPU, the function returns another CPU of the first plan. 0
 * before there is a plan.
 */
u32 shard_this_cpu(void);

/*
 * shard_this_cpu() for one plan, such as that of a structure. It also knows CPUs that the first
 * plan lacks, and works with plans of shard_plan_here_allowed(). Return: always a CPU of @plan.
 */
u32 shard_plan_this_cpu(const struct shard_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
