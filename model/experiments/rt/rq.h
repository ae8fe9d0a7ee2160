/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * rq.h - shared by the files of this directory: run queues, tasks, CPUs.
 *
 * Locks, in the order in which they nest: a task's lock (pi_lock), then run queues, by rising CPU
 * number. A queue's lock protects the queue, the choice of the running task, and on_rq of the
 * queue's tasks. A task's lock serialises its wake-ups and changes. A futex's lock is taken with
 * none of these held.
 *
 * These are read without a lock:
 *
 *   curr and its level, nr_running  wake-ups
 *   level, next_level               push, pull
 *   on_cpu                          wake-ups, which wait for it
 *   resched, wake_list, irq_work    the queue's own CPU
 */
#ifndef EXPERIMENTS_RT_RQ_H
#define EXPERIMENTS_RT_RQ_H

#include <stddef.h>

#include "list.h"
#include "lock.h"
#include "private.h"
#include "rt.h"

#define RT_LEVELS 100 /* 1 to 99 are used */

/* A task is asleep, being woken, or neither. */
enum rt_state { RT_RUNNABLE, RT_ASLEEP, RT_WAKING };

/**
 * struct rt_task - the simulated part of a thread
 * @lock: pi_lock
 * @state: enum rt_state
 * @on_rq: queued or running
 * @on_cpu: running, or not yet switched away from
 * @cpu: CPU of the queue it is on, or was on last
 * @level: 1-99 RT, RT_NORMAL, RT_IDLE
 * @nr_allowed: CPUs in @allowed
 * @reach: where the CPUs of @allowed are, if the layout needs to know
 * @moving: the task may no longer use its CPU, and must leave it
 * @wake_next: next on a CPU's wake list
 * @thread: the private part
 * @run_node: its place on its level's list
 * @push_node: its place on the list of pushable tasks
 * @pushable: it is on the list of pushable tasks
 * @wait_node: its place on a futex's list of waiters
 * @allowed: cpumask, long enough for the machine's CPU numbers
 */
struct rt_task {
	u32 lock, state, on_rq, on_cpu, cpu;
	s32 level;
	u32 nr_allowed, moving;
	struct rd_reach reach;
	struct rt_task *wake_next;
	struct rt_thread *thread;

	struct rt_list run_node port_cacheline_aligned;
	struct rt_list push_node;
	u32 pushable;
	struct rt_list wait_node;

	unsigned long allowed[] port_cacheline_aligned;
};

/**
 * struct rt_rq - one CPU's run queue, on separate lines
 * @lock: protects the queue
 * @nr_running: runnable tasks of all classes
 * @cpu: its CPU
 * @rd: its root domain
 * @curr: the running task
 * @wake_list: tasks that other CPUs woke for this one
 * @irq_work: RT_WALK, RT_ASKED: the push-IPI walk has arrived here, a CPU asked this one to push
 * @resched: the CPU should switch away from the running task
 * @level: highest RT level that is queued or running; 0: none
 * @next_level: highest level of a pushable task; 0: none
 * @nr_rt: RT tasks, queued or running
 * @nr_normal: normal tasks, queued or running
 * @reach: where the tasks may run that were pushable since the CPU last had none; only for layouts
 *	that need it
 * @used: levels with tasks
 * @pushable: tasks that could run elsewhere, highest level first
 * @overloaded: 0 if the queue is not overloaded; else @reach.shards as the root domain's overload
 * set has it, or 1
 * @normal: normal tasks
 * @queue: RT tasks by level
 */
struct rt_rq {
	u32 lock, nr_running, cpu;
	struct rd *rd;

	struct rt_task *curr port_cacheline_aligned;

	struct rt_task *wake_list port_cacheline_aligned;
	u64 irq_work;
	u32 resched;

	s32 level port_cacheline_aligned;
	s32 next_level;
	u32 nr_rt, nr_normal;
	struct rd_reach reach;
	u64 used[2];
	struct rt_list pushable;
	u64 overloaded;

	struct rt_list normal port_cacheline_aligned;
	struct rt_list queue[RT_LEVELS];
};

enum { RT_WALK = 1, RT_ASKED = 2 };

/**
 * struct rt_cpu - one CPU's private state; costs no simulated time
 * @index: number in the simulator
 * @number: CPU number
 * @curr: the running task
 * @idle: its idle task
 * @mode: how it has spent its time since @since
 * @push: after the switch, push the waiting tasks (balance callback)
 * @pull: after the change, pull (balance callback)
 * @requeue: the running task yields
 * @leaving: task that the CPU has switched away from, and that may have to leave it
 * @cursor: the last CPU chosen among equal ones, which are chosen in turn
 * @salt: see rt_salt()
 * @in_kernel: the CPU is in the kernel, so the checker waits
 */
struct rt_cpu {
	struct rt *rt;
	struct rt_rq *rq;
	struct rt_task *curr, *idle, *leaving;
	u32 index, number;
	s32 core, llc, node, package;
	enum rt_mode mode;
	u64 since, next_tick, salt;
	bool push, pull, requeue, in_kernel;
	struct timers timers;
	u32 cursor;
	u32 extra_finds;		/* thousandths of a search, carried over */
	unsigned long *lowest;		/* mask for find_lowest_rq() */
	struct rt_stats stats, counted; /* counted: as of rt_stop() */
};

struct rt {
	const struct model *model;
	const struct rd_ops *ops;
	struct rt_costs costs;
	struct shard_plan *plan;
	struct rt_cpu *cpus; /* by index */
	struct rt_cpu **by_number;
	struct rt_thread **thread;
	u32 nr_cpus, nr_numbers, mask_words, nr_threads, cap_threads;
	struct rd **domain;
	u32 nr_domains;
	bool push_ipi, stop;
	enum rt_check check;
	u32 in_kernel; /* CPUs */
	u32 extra_finds;
	u64 checks, misplaced;
};

static inline struct rt_rq *rt_rq_of(const struct rt_cpu *me, u32 cpu)
{
	return me->rt->by_number[cpu]->rq;
}

static inline void rt_longest(u64 *longest, u64 took)
{
	if (*longest < took)
		*longest = took;
}

static inline bool rt_mask_test(const unsigned long *mask, u32 cpu)
{
	return READ_ONCE(mask[cpu / 64]) >> (cpu % 64) & 1;
}

static inline bool rt_may_run(const struct rt_task *p, u32 cpu)
{
	return rt_mask_test(p->allowed, cpu);
}

/* Interrupts wait while a CPU is in the kernel; only the loop of cpu.c takes them. */

/* cpu.c */
void rt_enter(struct rt_cpu *me, enum rt_mode mode); /* time counts as @mode from now on */
void rt_body(u32 index, void *rt);

/* queue.c: the caller holds the queue's lock */
void rt_enqueue(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p, bool first);
void rt_dequeue(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p);
void rt_requeue(struct rt_rq *rq, struct rt_task *p, bool first);
struct rt_task *rt_pick(const struct rt_rq *rq); /* NULL: nothing to run */
void rt_put_prev(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p);
void rt_set_next(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p);
struct rt_task *rt_first_pushable(const struct rt_rq *rq);
/* Move a queued task that does not run; the caller holds both locks. */
void rt_move(struct rt_cpu *me, struct rt_rq *from, struct rt_rq *to, struct rt_task *p);

/* queue.c */
void rt_note_migration(struct rt_cpu *me, u32 from, u32 to);

/* select.c */
int rt_find(struct rt_cpu *me, struct rt_task *p, unsigned long *found);
s64 rt_find_lowest(struct rt_cpu *me, struct rt_task *p);
u32 rt_select(struct rt_cpu *me, struct rt_task *p);
bool rt_share_cache(const struct rt_cpu *me, u32 cpu);

/* kick.c */
void rt_kick(struct rt_cpu *me, u32 cpu); /* interrupt a CPU */
void rt_resched(struct rt_cpu *me, struct rt_rq *rq);

/* push.c, pull.c: the caller holds the lock of its queue; the function may drop it for a while */
bool rt_push_one(struct rt_cpu *me, struct rt_rq *rq);
void rt_push_all(struct rt_cpu *me, struct rt_rq *rq);
void rt_pull(struct rt_cpu *me, struct rt_rq *rq);
bool rt_double_lock(struct rt_rq *mine, struct rt_rq *other); /* was @mine dropped? */

/* push_ipi.c */
void rt_tell_to_push(struct rt_cpu *me, struct rt_rq *rq);
void rt_ask_to_push(struct rt_cpu *me, u32 cpu);
void rt_push_work(struct rt_cpu *me);

/* wake.c */
void rt_activate(struct rt_cpu *me, struct rt_rq *rq, struct rt_task *p);
void rt_place(struct rt_cpu *me, struct rt_task *p); /* @p is locked and on no queue */
struct rt_rq *rt_lock_queue_of(struct rt_cpu *me, struct rt_task *p);
void rt_leave(struct rt_cpu *me); /* without locks: moves me->leaving elsewhere */
void rt_take_woken(struct rt_cpu *me);

/* sched.c */
void rt_schedule(struct rt_cpu *me);
void rt_balance_callbacks(struct rt_cpu *me, struct rt_rq *rq);

/* check.c */
void rt_check_now(struct rt *rt);

#endif
