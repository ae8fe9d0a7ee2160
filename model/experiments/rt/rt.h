/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * rt.h - a scheduler with the RT class of Linux 6.12: the interface for experiments.
 *
 * Its shared state (run queues, task structs, root domains) is simulated memory, and the code
 * accesses it as the kernel does. struct rt_costs estimates the instructions between these
 * accesses. A thread is a program: a function that runs, in user mode, whenever the thread has
 * nothing left to compute. The program chooses what the thread does next:
 *
 * - It sets t->left to a time: the thread computes for that time, then its program is called again.
 * - It calls rt_futex_wait() or rt_sleep_until(). Then the program must return at once.
 *
 * Before it does one of these, a program may call the other functions here any number of times.
 *
 * Context: all functions except those of "building" run on the simulated machine; @me is the CPU
 * that executes. Programs never hold a scheduler lock.
 */
#ifndef EXPERIMENTS_RT_RT_H
#define EXPERIMENTS_RT_RT_H

#include "port.h"
#include "rd.h"

struct machine;
struct model;
struct rt;
struct rt_cpu;
struct rt_futex;
struct rt_rq;
struct rt_task;
struct rt_thread;

#define RT_IDLE	  (-1) /* level of a CPU's idle task */
#define RT_NORMAL 0    /* level of a task of the fair class; 1 to 99 are RT */

/**
 * struct rt_costs - time of the instructions between accesses to shared state, picoseconds
 * @syscall: into the kernel and back
 * @futex: a futex operation, without syscall, locks and wake-ups
 * @schedule: pick the next task
 * @context_switch: to another thread
 * @queue: put a task on a run queue or take it off
 * @wake: a wake-up, without changes of queues
 * @ipi_send: the sender's part of an interrupt
 * @ipi_travel: until the interrupt arrives
 * @irq: entry and exit of an interrupt
 * @idle_exit: until an interrupted idle CPU runs
 * @tick: the timer tick's work
 * @tick_period: between two ticks of a busy CPU; an idle one has none
 */
struct rt_costs {
	u64 syscall, futex, schedule, context_switch, queue, wake, ipi_send, ipi_travel, irq,
		idle_exit, tick, tick_period;
};

/* How a CPU spends its time. */
enum rt_mode { RT_USER, RT_KERNEL, RT_HALTED, RT_MODES };

/**
 * struct rt_stats - events, on one CPU or on all
 * @time: by mode, picoseconds
 * @set_time: picoseconds in set_level(); likewise for the other operations
 * @pulls: pull_rt_task() calls; @pulls_asked: calls that found other CPUs overloaded; @pull_time:
 *	time that the calls took to ask for overloaded CPUs
 * @push_tries: attempts to push a task; @pushes: attempts that moved one
 * @walks: push-IPI walks started; @steps: CPUs that they visited; @walk_time: time to request a
 *	walk and to find its next CPU
 * @newidle: CPUs that ran out of tasks
 * @wakeups: tasks woken; @preempted: RT tasks that lost the CPU while runnable
 * @overloads: a queue got its first pushable task
 * @migrations_far: migrations to another package
 * @stacked: enqueues that left two or more tasks on the queue
 * @longest_find: the longest search for a lower CPU, picoseconds; interrupts are off. Likewise
 *	@longest_pull: a whole pull, with the locks of other queues and what it moves
 */
struct rt_stats {
	u64 time[RT_MODES];
	u64 sets, set_time, finds, find_time, found;
	u64 overloads, overload_time, stacked;
	u64 pulls, pull_time, pulls_asked, pulled, push_tries, pushes, walks, steps, walk_time;
	u64 wakeups, remote_wakeups, migrations, migrations_far, switches, preempted, newidle, ipis,
		ticks;
	u64 longest_find, longest_pull;
};

/**
 * struct rt_thread - the part of a task that costs no simulated time, in private memory
 * @task: the simulated part
 * @run: the program
 * @arg: its argument
 * @left: picoseconds to compute before @run is called again
 * @woken_at: start of the last wake-up
 * @latency: from @woken_at until it ran
 */
struct rt_thread {
	struct rt_task *task;
	void (*run)(struct rt_cpu *me, struct rt_thread *t);
	void *arg;
	u64 left, woken_at, latency;
	u32 id, first_cpu;
	bool blocked;
};

/* ---- building, before sim_run() ---- */

/**
 * rt_create - make a scheduler for all simulated CPUs, in one root domain.
 * @ops: layout of the root domain
 * @cap: most CPUs in a shard, 0: the plan's default
 * @push_ipi: pull by a walk of interrupts (RT_PUSH_IPI) instead of from the pulling CPU
 *
 * Return: NULL when the layout cannot be made.
 */
struct rt *rt_create(const struct model *model, const struct rd_ops *ops,
		     const struct rt_costs *costs, u32 cap, bool push_ipi);
void rt_free(struct rt *rt);

/**
 * rt_set_extra_finds - add searches of the map at wake-ups
 * @thousandths: searches to add per 1,000 wake-ups of RT tasks that may migrate; the scheduler
 *	ignores their results
 */
void rt_set_extra_finds(struct rt *rt, u32 thousandths);

/** rt_partition - make a separate root domain for the CPUs in @span. Returns 0 or -1. */
int rt_partition(struct rt *rt, const unsigned long *span);

/**
 * rt_thread_new - make a thread, runnable from the start.
 * @cpu: CPU number where it starts, in @allowed
 * @level: RT_NORMAL, or 1 to 99
 * @allowed: cpumask, copied
 */
struct rt_thread *rt_thread_new(struct rt *rt, u32 cpu, int level, const unsigned long *allowed,
				void (*run)(struct rt_cpu *, struct rt_thread *), void *arg);

/**
 * rt_futex_new - make a futex's hash bucket, with its line on @node.
 */
struct rt_futex *rt_futex_new(int node);

/**
 * rt_run - run until rt_stop(). Returns simulated picoseconds.
 */
u64 rt_run(struct rt *rt);

/* ---- programs ---- */

/**
 * rt_futex_wait - sleep while *@word is @expected.
 *
 * Return: true if the thread sleeps and the program must return now, false if the word differed.
 */
bool rt_futex_wait(struct rt_cpu *me, struct rt_futex *f, const u32 *word, u32 expected);

/** rt_futex_wake - wake up to @n waiters. Returns their number. */
u32 rt_futex_wake(struct rt_cpu *me, struct rt_futex *f, u32 n);

/** rt_sleep_until - sleep until a time; the program returns now. A past time means a tick later. */
void rt_sleep_until(struct rt_cpu *me, u64 when);

/**
 * rt_yield - let an equal task run; the program returns now or after setting @left.
 */
void rt_yield(struct rt_cpu *me);

/** rt_set_level - change the level of a task, as sched_setscheduler() and boosting do. */
void rt_set_level(struct rt_cpu *me, struct rt_task *p, int level);

/**
 * rt_set_affinity - set the allowed CPUs; at least one of them must be simulated.
 */
void rt_set_affinity(struct rt_cpu *me, struct rt_task *p, const unsigned long *allowed);

/**
 * rt_wake - wake a task that waits for an event of its program. Return: did it sleep?
 */
bool rt_wake(struct rt_cpu *me, struct rt_task *p);

/** rt_block - let the running thread sleep until rt_wake(); the program returns now. */
void rt_block(struct rt_cpu *me);

void rt_syscall_begin(struct rt_cpu *me);
void rt_syscall_end(struct rt_cpu *me);

struct rt *rt_of(const struct rt_cpu *me);
u32 rt_cpu_number(const struct rt_cpu *me);
u64 rt_salt(const struct rt *rt, u32 cpu); /* random, from the seed, constant during the run */

/** rt_stop - let all bodies return as soon as they can. */
void rt_stop(struct rt_cpu *me);

/**
 * rt_measure_from_here - reset all counts.
 */
void rt_measure_from_here(struct rt_cpu *me);

/* ---- results ---- */

/** rt_stats - the sum over all CPUs since rt_measure_from_here(). */
struct rt_stats rt_stats(const struct rt *rt);
size_t rt_map_bytes(const struct rt *rt);

/* ---- tests ---- */

enum rt_check { RT_CHECK_NOTHING, RT_CHECK_STATE, RT_CHECK_PLACEMENT };

/**
 * rt_check - check all invariants whenever no CPU is inside the kernel and no interrupt is on its
 * way.
 * @what: RT_CHECK_STATE: check that queues, map and overload set agree, and count the checks in
 *	which a task waits although it could run. RT_CHECK_PLACEMENT: such a task is a violation
 *	too. See check.c.
 *
 * Prints a violation on stderr and aborts.
 */
void rt_check(struct rt *rt, enum rt_check what);
u64 rt_checks_made(const struct rt *rt);
u64 rt_checks_misplaced(const struct rt *rt); /* checks in which a task waited without need */

#endif
