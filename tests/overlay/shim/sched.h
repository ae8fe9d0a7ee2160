/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The part of Linux's kernel/sched/sched.h that the overlay's files use, over port.h, so that the
 * same files run in the explorer and on threads. host.h has the wait for a lock and the caller's
 * CPU.
 *
 * A list of pushable tasks is a word of bits. Task numbers are in the order of priorities, so that
 * the first bit is the highest task. has_pushable_tasks() is one load, as in Linux.
 */
#ifndef SHIM_SCHED_H
#define SHIM_SCHED_H

/* The C library's, which this one hides. */
#include_next <sched.h>

#include "port.h"
#include "cpupri.h"
#include "overload.h"
#include "push_walk.h"
#include "sbm.h"

#include "host.h"

#define CONFIG_SCHEDSHARD   1
#define CONFIG_NO_HZ_COMMON 1
#define HAVE_RT_PUSH_IPI    1
#define HZ		    4 /* every jiffy is one in which shards are tidied */
#define ilog2(n)	    (31 - __builtin_clz(n))
#define MAX_RT_PRIO	    100
#define MAX_DL_PRIO	    0
#define NUMA_NO_NODE	    (-1)
#define __init
#define SHIM_CPUS	      4u
#define SHIM_TASKS	      5u
#define IRQ_WORK_INIT_HARD(f) ((struct irq_work){ .func = (f) })
#define panic(...)	      __builtin_trap()

#ifndef container_of
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#endif

typedef struct cpumask {
	unsigned long bits[1];
} cpumask_t;

#define cpumask_bits(mask) ((mask)->bits)

struct plist_node {
	int prio;
};

struct plist_head {
	u64 tasks; /* by number */
};

/* A line that never changes unless a case changes the mask; one that changes with the queue. */
struct task_struct {
	struct plist_node pushable_tasks;
	int prio;
	int nr_cpus_allowed;
	u32 number;
	bool migration_disabled;
	struct cpumask cpus_mask;
	u8 sched_rt_wide port_cacheline_aligned;
	u32 cpu;
};

struct irq_work {
	void (*func)(struct irq_work *work);
	u32 number; /* of its bit in rq->irqs */
};

struct rt_walks;

struct root_domain {
	struct cpupri cpupri;
	struct overload *rto;
	struct rt_walks *rto_walks;
	struct overload *dlo;
};

/* Constant fields (except @rd, in hot-plug); fields under the lock; fields that others set. */
struct rq {
	u32 cpu;
	struct root_domain *rd;
	struct sbm_place nohz_place;
	u64 lock port_cacheline_aligned;
	struct task_struct *donor;
	struct {
		struct plist_head pushable_tasks;
		u64 queued; /* runnable RT tasks, by number */
		u32 nr_wide;
		u8 overloaded;
		struct {
			int curr;
		} highest_prio;
	} rt;
	struct {
		struct {
			u64 curr;
		} earliest_dl;
	} dl;
	u32 online;
	u32 resched;
	u64 irqs port_cacheline_aligned; /* interrupts on their way, by number */
	/* The fair class's, of nohz.c. */
	u32 nr_running;
	u32 nohz_flags;
	u32 nohz_tick_stopped;
	u32 has_blocked_load;
};

extern unsigned long jiffies;
extern struct task_struct *shim_tasks[SHIM_TASKS];
extern struct irq_work *shim_works[64];
extern struct rq *shim_rq[SHIM_CPUS];
extern const struct shard_plan *schedshard_plan;
extern const struct cpumask shim_active;

#define cpu_active_mask (&shim_active)

static inline struct rq *cpu_rq(u32 cpu)
{
	return shim_rq[cpu];
}

#define task_cpu(p) ((p)->cpu)
#define task_rq(p)  cpu_rq(task_cpu(p))

#define for_each_possible_cpu(cpu) for (cpu = 0; cpu < (int)SHIM_CPUS; cpu++)

static inline struct rq *this_rq(void)
{
	return cpu_rq(host_cpu());
}

/* Of the waiting tasks, those that the class knows to be on @rq. */
static inline bool plist_head_empty(const struct plist_head *head)
{
	return !READ_ONCE(head->tasks);
}

static inline const struct plist_node *plist_last(const struct plist_head *head)
{
	return &shim_tasks[63 - __builtin_clzll(READ_ONCE(head->tasks))]->pushable_tasks;
}

static inline bool has_pushable_tasks(const struct rq *rq)
{
	return !plist_head_empty(&rq->rt.pushable_tasks);
}

static inline bool is_migration_disabled(const struct task_struct *p)
{
	return p->migration_disabled;
}

static inline u32 hweight64(u64 word)
{
	return port_popcount64(word);
}

static inline void raw_spin_rq_lock(struct rq *rq)
{
	host_lock(&rq->lock);
}

static inline void raw_spin_rq_unlock(struct rq *rq)
{
	host_unlock(&rq->lock);
}

#define lockdep_assert_rq_held(rq) ((void)(rq)) /* accesses without it are data races */

/* The real one refuses work that is on its way; the walks promise never to try. */
static inline void irq_work_queue_on(struct irq_work *work, s64 cpu)
{
	u64 bit = 1ull << work->number;

	host_check(!(port_fetch_or64(&cpu_rq((u32)cpu)->irqs, bit) & bit),
		   "a walk is sent where it is");
}

#include "rt_level.h"
#include "rt_overload.h"
#include "rt_walk.h"
#include "rt_wide.h"
#include "dl_overload.h"

#endif
