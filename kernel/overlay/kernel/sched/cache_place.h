/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cache-aware scheduling in load balancing: fair.c calls these functions of cache_place.c for
 * migrations, but not for wake-ups.
 */
#ifndef _KERNEL_SCHED_CACHE_PLACE_H
#define _KERNEL_SCHED_CACHE_PLACE_H

#ifdef CONFIG_SCHED_CACHE_SHARD

#include <linux/schedshard/occupancy.h>

/* One pass of the balancer between two CPUs, in its struct lb_env. */
struct sched_cache_pass {
	struct rq *stray; /* the queue to take a thread from without an imbalance; NULL: none */
	s32 src_llc;	  /* number of @src's LLC, plus 1; 0: not read yet */
	s32 dst_llc;	  /* the same for @dst */
	struct occupancy_load src; /* the fill of the LLC that threads leave */
	struct occupancy_load dst; /* the fill of the other one */
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

/*
 * Must load balancing leave a thread where it is? @env: the pass's struct lb_env, which keeps the
 * fill. Macros, as only fair.c knows that struct. Context: RCU read side.
 */
#define sched_cache_refuses(env, p)               \
	(static_branch_likely(&sched_cache_on) && \
	 __sched_cache_refuses(&(env)->cache, (env)->sd, p, (env)->src_cpu, (env)->dst_cpu))

/* Does the thread prefer the destination? As sched_cache_refuses(). */
#define sched_cache_favours(env, p)               \
	(static_branch_likely(&sched_cache_on) && \
	 __sched_cache_favours(&(env)->cache, (env)->sd, p, (env)->src_cpu, (env)->dst_cpu))

/* A search for the busiest group begins. */
static inline void sched_cache_begin(struct sched_cache_pass *pass)
{
	pass->stray = NULL;
}

/*
 * A group, of a domain without imbalance, with a thread among @cpus that prefers the LLC of
 * @dst_cpu and may go there. The search needs CPU_IDLE, not CPU_NEWLY_IDLE. Return: the group, and
 * the queue in @pass; NULL: none. Context: RCU read side.
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

/* The queue that sched_cache_find_group() found in this pass; NULL: none. */
static inline struct rq *sched_cache_stray(const struct sched_cache_pass *pass)
{
	return pass->stray;
}

/* Is a push of the running thread of a queue useless? As sched_cache_refuses(). */
static inline bool sched_cache_keeps(struct sched_cache_pass *pass, struct sched_domain *sd,
				     struct rq *src_rq, int dst_cpu)
{
	return static_branch_likely(&sched_cache_on) &&
	       __sched_cache_keeps(pass, sd, src_rq, dst_cpu);
}

/* A thread moves from one LLC to the other. */
static inline void sched_cache_moved(struct sched_cache_pass *pass, struct task_struct *p)
{
	if (static_branch_likely(&sched_cache_on))
		__sched_cache_moved(pass, p);
}

/* A tick found the thread running: does it run in its preferred cache? The queue is locked. */
static inline void sched_cache_note_stray(struct rq *rq, struct task_struct *p)
{
	if (static_branch_likely(&sched_cache_on))
		__sched_cache_note_stray(rq, p);
}

#else

struct sched_cache_pass {
};

/* Constants: without the option the compiler generates the same code as before. */
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
