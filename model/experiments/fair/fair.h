/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * fair.h - a scheduler with the fair class of Linux 6.12: the interface for experiments. It
 * implements what the nohz idle set needs: CPUs go idle, wake up and are balanced as in the kernel.
 *
 * Shared state (run queues, task structs, scheduler domains, the idle set, channels) is simulated
 * memory, and the code accesses it as the kernel does. struct fair_costs estimates the instructions
 * between these accesses. A thread is a program: a function that runs, in user mode, whenever the
 * thread has nothing left to compute. The program chooses what the thread does next:
 *
 * - It sets t->left to a time: the thread computes for that time, then its program is called again.
 * - It calls fair_sleep_until(), fair_exit(), or a function that returns false. Then the program
 *   must return at once.
 *
 * All tasks have the same weight and may run anywhere. CPUs have the simulator's numbers; only the
 * idle set knows CPU numbers.
 *
 * Context: all functions except those of "building" run on the simulated machine; @me is the CPU
 * that executes. Programs never hold a scheduler lock.
 */
#ifndef EXPERIMENTS_FAIR_FAIR_H
#define EXPERIMENTS_FAIR_FAIR_H

#include "idle/idle_set.h"
#include "port.h"

struct fair;
struct fair_channel;
struct fair_cpu;
struct fair_task;
struct fair_thread;
struct model;

/**
 * struct fair_costs - time of the instructions between accesses to shared state, picoseconds
 * @syscall: into the kernel and back
 * @message: send or receive a message, without syscall, locks, wake-ups and the data
 * @schedule: pick the next task
 * @context_switch: to another thread
 * @queue: put a task on a run queue or take it off
 * @wake: a wake-up, without changes of queues
 * @fork: a new thread
 * @look: examine one CPU, in a search for an idle or a busy one
 * @ipi_send: the sender's part of an interrupt
 * @ipi_travel: until the interrupt arrives
 * @irq: entry and exit of an interrupt
 * @idle_exit: until an interrupted idle CPU runs
 * @tick: the timer tick's work
 * @tick_period: between two ticks, which come at the same time on all CPUs
 * @slice: how long a task runs while others wait
 * @migration: a task that ran more recently than this is cache hot; a shorter idle time is not
 *	worth a search
 */
struct fair_costs {
	u64 syscall, message, schedule, context_switch, queue, wake, fork, look, ipi_send,
		ipi_travel, irq, idle_exit, tick, tick_period, slice, migration;
};

/* How a CPU spends its time. */
enum fair_mode { FAIR_USER, FAIR_KERNEL, FAIR_HALTED, FAIR_MODES };

/**
 * struct fair_stats - events, on one CPU or on all
 * @time: time spent in each mode, picoseconds
 * @enters, @enter_time: number of entries into the idle set, with a stopped tick, and their time
 * @exits, @exit_time: number of exits, each at a CPU's first busy tick, and their time
 * @ticks, @kick_time: busy ticks, and the time that they spent on requesting a balancer
 * @kicks: requests for a balancer; @near: of these, in the same LLC
 * @balances: walks of a balancer; @looks: walks without balancing, for new CPUs or decaying load
 * @walked: CPUs that walks visited; @cut: walks that ended because the balancer got work
 * @idle_pulls, @newidle_pulls: tasks moved by balancers, and by CPUs that ran out of tasks
 * @wakeups: tasks woken
 */
struct fair_stats {
	u64 time[FAIR_MODES];
	u64 enters, enter_time, exits, exit_time, ticks, kick_time, kicks, near;
	u64 balances, looks, walked, cut;
	u64 idle_pulls, newidle_pulls, wakeups;
};

/**
 * struct fair_thread - the part of a task that costs no simulated time, in private memory
 * @task: the simulated part
 * @run: the program
 * @arg: its argument
 * @left: picoseconds to compute before @run is called again
 * @id: number in order of creation
 * @blocked: sleeps, or is about to sleep
 * @exited: never runs again
 */
struct fair_thread {
	struct fair_task *task;
	void (*run)(struct fair_cpu *me, struct fair_thread *t);
	void *arg;
	u64 left;
	u32 id;
	bool blocked, exited;
};

/* ---- building, before sim_run() ---- */

/**
 * fair_create - make a scheduler for all simulated CPUs.
 * @ops: layout of the idle set
 * @cap: most CPUs in a shard, 0: the plan's default
 *
 * Return: NULL when the layout cannot be made.
 */
struct fair *fair_create(const struct model *model, const struct idle_ops *ops,
			 const struct fair_costs *costs, u32 cap);
void fair_free(struct fair *f);

/**
 * fair_thread_new - make a thread. The scheduler does not know it before fair_fork().
 */
struct fair_thread *
fair_thread_new(struct fair *f, void (*run)(struct fair_cpu *, struct fair_thread *), void *arg);

/**
 * fair_run - run until fair_stop(). Returns simulated picoseconds.
 * @first: runnable from the start, on CPU 0
 */
u64 fair_run(struct fair *f, struct fair_thread *first);

/* ---- programs ---- */

/**
 * fair_fork - make @t runnable, in the domains with most room for it.
 */
void fair_fork(struct fair_cpu *me, struct fair_thread *t);

/** fair_sleep_until - sleep until a time; the program returns now. */
void fair_sleep_until(struct fair_cpu *me, u64 when);

void fair_exit(struct fair_cpu *me);

/** fair_stop - let all bodies return as soon as they can. */
void fair_stop(struct fair_cpu *me);

/**
 * fair_count_from_here - reset all counts.
 */
void fair_count_from_here(struct fair_cpu *me);

/** fair_stats - the sum over all CPUs since fair_count_from_here(). */
struct fair_stats fair_stats(struct fair_cpu *me);

/**
 * fair_most_picked - how often the most frequent balancer was picked.
 */
u64 fair_most_picked(const struct fair *f);

size_t fair_idle_bytes(const struct fair *f);

/* ---- channels: see channel.c ---- */

/**
 * fair_channel_new - make a stream of messages with one receiver and any number of senders.
 * @cpu: the stream's lines are on this CPU's node
 * @capacity: maximum number of messages before senders wait
 * @senders: number of senders
 *
 * Call it before sim_run().
 */
struct fair_channel *fair_channel_new(struct fair *f, u32 cpu, u32 capacity, u32 senders);
void fair_channel_free(struct fair_channel *x);

/* Both return false if the thread must wait: its program then returns, and calls again later. */
bool fair_send(struct fair_cpu *me, struct fair_channel *x);
bool fair_receive(struct fair_cpu *me, struct fair_channel *x);

/* ---- tests ---- */

/**
 * fair_check - check all invariants whenever no CPU is inside the kernel and no interrupt is on its
 * way.
 *
 * Prints a violation on stderr and aborts. See check.c.
 */
void fair_check(struct fair *f);
u64 fair_checks_made(const struct fair *f);

/* For tests: return the CPU of the task; takes no simulated time. */
u32 fair_task_cpu(const struct fair_thread *t);

#endif
