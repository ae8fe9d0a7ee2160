/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cache-aware scheduling in load balancing: what cache_place.c says about a migration, at the
 * places of fair.c that ask. Wake-ups are not asked about.
 */
#ifndef _KERNEL_SCHED_CACHE_PLACE_H
#define _KERNEL_SCHED_CACHE_PLACE_H

#ifdef CONFIG_SCHED_CACHE_SHARD

#include <linux/schedshard/occupancy.h>

/**
 * struct sched_cache_pass - of one pass of the balancer between two CPUs, in its struct lb_env
 * @stray: the queue to take a thread from, though nothing is out of balance; NULL: as usual
 * @src_llc: number of the LLC that @src is about, plus 1; 0: not looked at yet
 * @dst_llc: the same for @dst
 * @src: how full the LLC is that threads leave
 * @dst: how full the other one is
 */
struct sched_cache_pass {
	struct rq *stray;
	s32 src_llc;
	s32 dst_llc;
	struct occupancy_load src;
	struct occupancy_load dst;
};

bool __sched_cache_refuses(struct sched_cache_pass *pass, struct sched_domain *sd,
			   struct task_struct *p, int src_cpu, int dst_cpu);
bool __sched_cache_favours(struct sched_cache_pass *pass, struct sched_domain *sd,
			   struct task_struct *p, int src_cpu, int dst_cpu);
struct sched_group *__sched_cache_find_group(struct sched_cache_pass *pass, struct sched_domain *sd,
					     const struct cpumask *cpus, int dst_cpu);
bool __sched_cache_keeps(struct sched_cache_pass *pass, struct sched_domain *sd, struct rq *src_rq,
			 int dst_cpu);
void __sched_cache_moved(struct sched_cache_pass *pass, struct task_struct *p);
void __sched_cache_note_stray(struct rq *rq, struct task_struct *p);

/**
 * sched_cache_refuses() - must load balancing leave a thread where it is?
 * @env: the pass's struct lb_env; what is looked at is kept there
 * @p: the thread
 *
 * Macros, as struct lb_env is known to fair.c only. Context: RCU read side.
 */
#define sched_cache_refuses(env, p)               \
	(static_branch_likely(&sched_cache_on) && \
	 __sched_cache_refuses(&(env)->cache, (env)->sd, p, (env)->src_cpu, (env)->dst_cpu))

/* Is a thread wanted where it would go? As sched_cache_refuses(). */
#define sched_cache_favours(env, p)               \
	(static_branch_likely(&sched_cache_on) && \
	 __sched_cache_favours(&(env)->cache, (env)->sd, p, (env)->src_cpu, (env)->dst_cpu))

/* A search for the busiest group begins. */
static inline void sched_cache_begin(struct sched_cache_pass *pass)
{
	pass->stray = NULL;
}

/**
 * sched_cache_find_group() - a group with a thread that prefers this CPU's LLC, and may go there
 * @pass: of this pass
 * @sd: the domain, in which nothing is out of balance
 * @cpus: those to look at
 * @dst_cpu: where it would go
 * @idle: state of that CPU; unless it is idle, and not just about to be, none is looked for
 *
 * Return: the group, and the queue in @pass; NULL: none. Context: RCU read side.
 */
static inline struct sched_group *sched_cache_find_group(struct sched_cache_pass *pass,
							 struct sched_domain *sd,
							 const struct cpumask *cpus, int dst_cpu,
							 enum cpu_idle_type idle)
{
	if (!static_branch_likely(&sched_cache_on) || idle != CPU_IDLE)
		return NULL;
	return __sched_cache_find_group(pass, sd, cpus, dst_cpu);
}

/* The queue that sched_cache_find_group() found in this pass, NULL: none. */
static inline struct rq *sched_cache_stray(const struct sched_cache_pass *pass)
{
	return pass->stray;
}

/* Would it be in vain to push away what runs on a queue's CPU? As sched_cache_refuses(). */
static inline bool sched_cache_keeps(struct sched_cache_pass *pass, struct sched_domain *sd,
				     struct rq *src_rq, int dst_cpu)
{
	return static_branch_likely(&sched_cache_on) &&
	       __sched_cache_keeps(pass, sd, src_rq, dst_cpu);
}

/* A thread leaves the one LLC for the other. */
static inline void sched_cache_moved(struct sched_cache_pass *pass, struct task_struct *p)
{
	if (static_branch_likely(&sched_cache_on))
		__sched_cache_moved(pass, p);
}

/* A tick found the thread running: is it where it belongs? The queue is locked. */
static inline void sched_cache_note_stray(struct rq *rq, struct task_struct *p)
{
	if (static_branch_likely(&sched_cache_on))
		__sched_cache_note_stray(rq, p);
}

#else

struct sched_cache_pass {
};

/* Constants, so that the compiler makes what it made without them. */
#define sched_cache_refuses(env, p) false
#define sched_cache_favours(env, p) false

static inline void sched_cache_begin(struct sched_cache_pass *pass) { }

static inline struct sched_group *sched_cache_find_group(struct sched_cache_pass *pass,
							 struct sched_domain *sd,
							 const struct cpumask *cpus, int dst_cpu,
							 enum cpu_idle_type idle)
{
	return NULL;
}

static inline struct rq *sched_cache_stray(const struct sched_cache_pass *pass)
{
	return NULL;
}

static inline bool sched_cache_keeps(struct sched_cache_pass *pass, struct sched_domain *sd,
				     struct rq *src_rq, int dst_cpu)
{
	return false;
}

static inline void sched_cache_moved(struct sched_cache_pass *pass, struct task_struct *p) { }
static inline void sched_cache_note_stray(struct rq *rq, struct task_struct *p) { }

#endif /* CONFIG_SCHED_CACHE_SHARD */

#endif /* _KERNEL_SCHED_CACHE_PLACE_H */
