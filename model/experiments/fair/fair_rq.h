/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * fair_rq.h - shared by the files of this directory: run queues, tasks, domains, CPUs.
 *
 * Locks, in the order in which they nest: a channel's, a task's lock (pi_lock), one run queue. No
 * CPU ever locks two queues at once: it takes tasks off one queue, then puts them on the other. A
 * queue's lock protects the queue, the choice of the running task, and on_rq of the queue's tasks.
 *
 * These are read without a lock:
 *
 *   curr, nr_running, pending            wake-ups, balancing
 *   on_cpu                               wake-ups, which wait for it
 *   resched, wake_list, nohz_flags       the queue's own CPU
 *   next_balance                         balancers
 *   idle_cores, nr_busy, scan of an LLC  wake-ups, ticks
 */
#ifndef EXPERIMENTS_FAIR_FAIR_RQ_H
#define EXPERIMENTS_FAIR_FAIR_RQ_H

#include <stddef.h>

#include "fair.h"
#include "../rt/list.h"
#include "../rt/lock.h"
#include "../rt/private.h"
#include "sim.h"

/* A task is asleep, being woken, or neither. */
enum fair_state { FAIR_RUNNABLE, FAIR_ASLEEP, FAIR_WAKING };

/**
 * struct fair_task - the simulated part of a thread
 * @lock: pi_lock
 * @state: enum fair_state
 * @on_rq: queued or running
 * @on_cpu: running, or not yet switched away from
 * @cpu: CPU of the queue it is on, or was on last
 * @recent: the CPU before @cpu
 * @wake_next: next on a CPU's wake list
 * @thread: the private part
 * @flips: number of changes of @last_wakee, halved every second
 * @flips_at: time of the last halving
 * @last_wakee: the task that this one woke last
 * @run_node: its place on its queue's list, unless it runs
 * @vruntime: its run time in picoseconds, relative to other tasks of its queue
 * @lag: while asleep: its vruntime minus the queue's lowest
 * @exec_start: when its run time was counted last
 * @slice_end: run time at which its slice ends
 * @wait_node: its place on a channel's list of waiters
 * @waiting: it is on a channel's list of waiters
 */
struct fair_task {
	u32 lock, state, on_rq, on_cpu, cpu, recent;
	struct fair_task *wake_next;
	struct fair_thread *thread;
	u64 flips, flips_at;

	struct fair_task *last_wakee port_cacheline_aligned;
	struct rt_list run_node;
	u64 vruntime, lag, exec_start, slice_end;

	struct rt_list wait_node port_cacheline_aligned;
	u32 waiting;
};

/**
 * struct fair_rq - one CPU's run queue, on separate lines
 * @lock: protects the queue
 * @nr_running: runnable tasks
 * @pending: other CPUs woke tasks for this CPU
 * @cpu: its CPU
 * @tick_stopped: the CPU is in the idle set
 * @has_blocked: load of tasks that left may have to decay
 * @blocked_at: jiffy of the last update of that load
 * @blocked_until: when it will have decayed, picoseconds
 * @curr: the running task
 * @min_vruntime: lowest vruntime of the tasks here
 * @queue: waiting tasks, lowest vruntime first
 * @wake_list: tasks that other CPUs woke for this one
 * @resched: the CPU should switch away from the running task
 * @nohz_flags: requests to this CPU as a balancer
 * @next_balance: jiffy in which a domain of this CPU is due
 * @avg_idle: idle time, moving average, picoseconds
 * @max_idle_cost: longest time of a search for tasks
 * @idle_since: when the CPU went idle, if no task woke since then; else 0
 */
struct fair_rq {
	u32 lock, nr_running, pending, cpu;
	u32 tick_stopped, has_blocked;
	u64 blocked_at, blocked_until;

	struct fair_task *curr port_cacheline_aligned;
	u64 min_vruntime;
	struct rt_list queue;

	struct fair_task *wake_list port_cacheline_aligned;
	u32 resched, nohz_flags;

	u64 next_balance port_cacheline_aligned;
	u64 avg_idle, max_idle_cost, idle_since;
};

/**
 * struct fair_llc - state shared by the CPUs of an LLC (Linux: sched_domain_shared)
 * @nr_busy: CPUs with a tick
 * @idle_cores: there may be a core with all threads idle
 * @scan: number of CPUs that a search for an idle one may read
 */
struct fair_llc {
	u32 nr_busy, idle_cores, scan;
} port_cacheline_aligned;

/**
 * struct fair_sd - a CPU's scheduler domain: the part that changes
 * @last_balance: jiffy of the last balance
 * @interval: jiffies between two balances of an idle CPU
 * @failed: balances that found an imbalance and could not move a task
 * @max_cost: longest search by a CPU that ran out of tasks
 */
struct fair_sd {
	u64 last_balance;
	u32 interval, failed;
	u64 max_cost;
} port_cacheline_aligned;

/* The CPUs of a child domain. */
struct fair_group {
	u32 *cpu, nr, cores;
};

/**
 * struct fair_domain - CPUs that balance with each other; all of them use one struct
 * @cpu: its CPUs
 * @nr: number of CPUs
 * @group: the child domains, at least two
 * @nr_groups: number of groups
 * @share_llc: all its CPUs share an LLC
 * @siblings: its CPUs are threads of one core
 * @numa: joins NUMA nodes
 * @spread: spread tasks evenly over the groups (Linux: the child prefers siblings)
 * @percent: how busy another group must be, in percent of the own group
 * @nice_tries: failed balances before cache hot tasks move
 * @numa_spare: NUMA: imbalance, in tasks, that is acceptable
 */
struct fair_domain {
	u32 *cpu, nr;
	struct fair_group *group;
	u32 nr_groups;
	bool share_llc, siblings, numa, spread;
	u32 percent, nice_tries, numa_spare;
};

#define FAIR_LEVELS    5 /* core, LLC, node, package, machine */
#define FAIR_INTERVALS 8

/**
 * struct fair_cpu - one CPU's private state; costs no simulated time
 * @index: number in the simulator
 * @number: CPU number
 * @domain: its domains, smallest first
 * @group: by level: the domain's group that contains the CPU
 * @sd: by level, in simulated memory
 * @mode: how it has spent its time since @since
 * @tick_off: idle, with its tick stopped
 * @evict_to: CPU to which to move the running task, or -1
 * @leaving: task that goes to @leave_to, now that the CPU has switched away from it
 * @idle_for: its latest idle times, microseconds
 * @idle_at: next entry of @idle_for
 * @idle_begin: when it halted
 * @picked: how often it was picked as a balancer
 * @in_kernel: the CPU is in the kernel, so the checker waits
 */
struct fair_cpu {
	struct fair *fair;
	struct fair_rq *rq;
	struct fair_task *curr, *idle, *leaving;
	u32 index, number, core, llc, node, package, leave_to;
	struct fair_llc *shared;
	const struct fair_domain *domain[FAIR_LEVELS];
	u32 group[FAIR_LEVELS], nr_domains;
	struct fair_sd *sd;
	enum fair_mode mode;
	u64 since, next_tick;
	bool tick_off, in_kernel;
	s64 evict_to;
	struct timers timers;
	u64 idle_for[FAIR_INTERVALS], idle_begin;
	u32 idle_at;
	u64 picked;
	struct fair_stats stats;
};

struct fair {
	const struct model *model;
	const struct idle_ops *ops;
	struct idle_set *idle;
	struct fair_costs costs;
	struct shard_plan *plan;
	struct fair_cpu *cpu; /* by index */
	u32 *by_number;	      /* index by CPU number */
	u32 nr_cpus;
	struct fair_domain *domain;
	u32 nr_domains;
	struct fair_llc **llc;
	u32 nr_llcs;
	u32 *overloaded; /* flag of the root domain: some queue has two tasks */
	struct fair_thread **thread, *first;
	u32 nr_threads, cap_threads;
	bool stop, check;
	u32 in_kernel; /* CPUs */
	u64 checks;
};

static inline struct fair_rq *fair_rq_of(const struct fair_cpu *me, u32 cpu)
{
	return me->fair->cpu[cpu].rq;
}

static inline u64 fair_jiffies(const struct fair_cpu *me)
{
	return sim_now() / me->fair->costs.tick_period;
}

/* Does the CPU run no task, with none on its way to it? Reads two lines. */
static inline bool fair_is_idle(const struct fair_cpu *me, u32 cpu)
{
	const struct fair_rq *rq = fair_rq_of(me, cpu);

	return !READ_ONCE(rq->nr_running) && !READ_ONCE(rq->pending) &&
	       READ_ONCE(rq->curr) == me->fair->cpu[cpu].idle;
}

static inline bool fair_share_cache(const struct fair_cpu *me, u32 a, u32 b)
{
	return me->fair->cpu[a].llc == me->fair->cpu[b].llc;
}

/* domain.c */
void fair_domains_build(struct fair *f);
void fair_domains_free(struct fair *f);

/* cpu.c */
void fair_enter(struct fair_cpu *me, enum fair_mode mode); /* from now on time counts as @mode */
void fair_wait(struct fair_cpu *me); /* the running thread sleeps, unless woken before */
void fair_syscall_begin(struct fair_cpu *me);
void fair_syscall_end(struct fair_cpu *me);

/* queue.c: the caller holds the queue's lock */
void fair_enqueue(struct fair_cpu *me, struct fair_rq *rq, struct fair_task *p);
void fair_dequeue(struct fair_cpu *me, struct fair_rq *rq, struct fair_task *p);
void fair_requeue(struct fair_rq *rq, struct fair_task *p);	      /* @p ran and now waits */
struct fair_task *fair_pick(struct fair_cpu *me, struct fair_rq *rq); /* NULL: nothing to run */
void fair_count_run(struct fair_rq *rq, struct fair_task *p);	      /* up to now */

/* select.c */
u32 fair_select(struct fair_cpu *me, struct fair_task *p, bool sync);
u32 fair_select_new(struct fair_cpu *me);
bool fair_core_is_idle(const struct fair_cpu *me, u32 cpu);
void fair_core_went_idle(struct fair_cpu *me);

/* wake.c */
bool fair_wake(struct fair_cpu *me, struct fair_task *p, bool sync);
void fair_kick(struct fair_cpu *me, u32 cpu); /* interrupt a CPU */
void fair_resched(struct fair_cpu *me, struct fair_rq *rq);
void fair_activate(struct fair_cpu *me, struct fair_rq *rq, struct fair_task *p);
void fair_move_to(struct fair_cpu *me, struct fair_task *p, u32 cpu); /* @p is on no queue */
void fair_take_woken(struct fair_cpu *me);

/* sched.c */
void fair_schedule(struct fair_cpu *me);

/* busiest.c */
enum fair_why { FAIR_BUSY, FAIR_IDLE, FAIR_NEWIDLE };

struct fair_imbalance {
	s64 cpu;   /* the CPU to take tasks from, -1: balanced */
	u32 tasks; /* how many */
};

struct fair_imbalance fair_busiest(struct fair_cpu *me, u32 dst, u32 level, enum fair_why why);

/* balance.c: without locks */
bool fair_newidle(struct fair_cpu *me); /* did a task come? */
void fair_balance_domains(struct fair_cpu *me, u32 dst, bool idle);

/* nohz.c */
enum { NOHZ_BALANCE = 1, NOHZ_STATS = 2, NOHZ_NEXT = 4, NOHZ_NEWILB = 8 };

void fair_nohz_enter(struct fair_cpu *me);
void fair_nohz_tick(struct fair_cpu *me);
void fair_nohz_newidle(struct fair_cpu *me);
void fair_nohz_before_idle(struct fair_cpu *me);
void fair_nohz_kicked(struct fair_cpu *me);
s64 fair_find_ilb(struct fair_cpu *me);

/* governor.c */
bool fair_keep_tick(struct fair_cpu *me);
void fair_idle_ended(struct fair_cpu *me, bool by_tick);

/* check.c */
void fair_check_now(struct fair_cpu *me); /* outside simulated time */

#endif
