/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * plans.h - the plans of this machine, and what happens when its CPUs change.
 *
 * The first call that needs a plan reads /sys; later ones find it ready. A plan never changes and
 * stays until the process ends. So a structure is valid as long as it exists, whatever CPUs do.
 *
 * A plan has the CPUs that are present: those that are offline too, and those that a cpuset or a
 * container forbids. CPUs that are possible and absent take no room. A number of the plan stays
 * valid when CPUs go offline or online, and when the process moves. What a plan cannot know: which
 * cache a CPU has that was offline all the time, and CPUs that are plugged in later.
 * shard_plan_refresh() looks for both:
 *
 *	u32 generation = shard_plan_generation();
 *	struct sbm *idle = sbm_create();
 *
 *	once a minute, or when udev tells of a CPU:
 *		shard_plan_refresh(NULL);
 *	where it suits the program:
 *		if (shard_plan_generation() != generation)
 *			make the structures anew, if they are worth it
 *
 * All CPUs of a plan are in each later one. What was known of a CPU that is offline now stays
 * known. So SMT switched off and on again makes no new plan, and the number of plans is limited by
 * that of CPUs.
 *
 * Concurrency: all calls may overlap. A child of a process with threads must not make a plan, as
 * another thread may have held the lock. Context: what makes or refreshes a plan allocates and
 * reads files, and is not for signal handlers; all others run anywhere. Ordering: what made a plan
 * is visible to who gets it, and a plan's generation to who reads its number; else none.
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
 * For the functions that take a plan. Where there is no /sys, or nobody may read it, all CPUs are
 * alike: shard_plan_how() tells. After a failure the next call tries again.
 *
 * Return: 0; -ENOMEM; -EINVAL when /sys contradicts itself; or the error of reading a file.
 */
int shard_plan_here(const struct shard_plan **plan, struct shard_err *err);

/* A line for each core, also where some cores have two threads and others one. */
#define SHARD_CAP_CORE 0xffffffffu

/* Most CPUs on such a line: a core of more threads has several. */
#define SHARD_CAP_POOL 2u

/**
 * shard_plan_here_cap() - the plan of this machine with at most so many CPUs on a line
 * @cap: 1..64; 0: 64, the plan of shard_plan_here(); SHARD_CAP_CORE: for what is claimed and put
 *	back, and not walked
 * @plan: as for shard_plan_here(); the same plan as for a larger @cap if nothing is cut
 * @err: as for shard_plan_here()
 *
 * Return: as shard_plan_here(); also -EINVAL for another @cap.
 */
int shard_plan_here_cap(u32 cap, const struct shard_plan **plan, struct shard_err *err);

/**
 * shard_plan_here_allowed() - the plan of those CPUs on which the calling thread may run now
 * @cap: as for shard_plan_here_cap()
 * @plan: as for shard_plan_here(); others with the same CPUs get the same one
 * @err: as for shard_plan_here()
 *
 * For a process that has a few CPUs of a large machine for good: CPUs that a cpuset, a container or
 * an affinity forbids take no room, and no walk reads their lines. Their numbers are holes, and
 * shard_this_cpu() may return one. So threads take shard_plan_this_cpu(). Call it before threads
 * are bound. When the affinity has changed, the next call returns another plan.
 *
 * Return: as shard_plan_here_cap().
 */
int shard_plan_here_allowed(u32 cap, const struct shard_plan **plan, struct shard_err *err);

/**
 * shard_plan_refresh() - look whether the machine's CPUs have changed, and make a new plan if so
 * @err: describes a failure in one line, or NULL
 *
 * Reads two files if no CPU came or went since the last call, else /sys as at the start. Existing
 * structures keep their plan. Later calls to create and to shard_plan_here() get the new one.
 *
 * Return: 1: a new plan, also the first one; 0: the plan is as good as a new one; else as
 * shard_plan_here(), and the plan of before stays.
 */
int shard_plan_refresh(struct shard_err *err);

/*
 * The number of the current plan: 0: there is none; 1 for the first one, and one more for each
 * shard_plan_refresh() that made another.
 */
u32 shard_plan_generation(void);

/**
 * shard_plan_how() - where the current plan comes from
 *
 * For a line in a log, when a program is slower than it should be.
 *
 * Return: "caches in /sys", "/sys without caches", or "no /sys: all CPUs are alike"; empty before
 * there is a plan.
 */
const char *shard_plan_how(void);

/*
 * How many CPUs of a plan may the calling thread run on now? As many workers are useful. At least
 * 1; plan->nr_possible where the kernel does not tell. The number changes with cpusets, hot-plug
 * and affinity.
 */
u32 shard_nr_allowed(const struct shard_plan *plan);

/**
 * shard_this_cpu() - a CPU number for what the calling thread does now
 *
 * The thread may be on another CPU when this returns, unless it is bound to one. An update for the
 * old one then costs a cache miss, and nothing else. With rseq (glibc 2.35 and later) this is a
 * load, else a call of getcpu().
 *
 * Return: the CPU that the thread runs on, always a CPU of all plans of shard_plan_here(). If the
 * first of them does not know the CPU, it is another one that it knows. 0 before there is a plan.
 */
u32 shard_this_cpu(void);

/*
 * shard_this_cpu() for one plan, such as a structure's: also CPUs that came later, and plans of
 * shard_plan_here_allowed(). Return: always a CPU of @plan.
 */
u32 shard_plan_this_cpu(const struct shard_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
