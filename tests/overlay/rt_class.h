/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The RT class around the overlay's files: it wakes, blocks, pushes, pulls and moves tasks, with
 * only the order of calls that kernel/cocci/ gives Linux's rt.c.
 */
#ifndef OVERLAY_RT_CLASS_H
#define OVERLAY_RT_CLASS_H

#include "sched.h"

/* A task that runs instead of RT tasks, with the lowest priority. */
#define PRIO_IDLE 120

/* A CPU wakes @p on @rq, and pushes what must wait there. */
void rt_wake(struct rq *rq, struct task_struct *p);

/* The task that runs on @rq sleeps: pull, choose, push. Return: the task, NULL: an idle CPU. */
struct task_struct *rt_block(struct rq *rq);

/* @rq has to choose again. */
void rt_resched(struct rq *rq);

/* @rq's CPU queries for waiting tasks of other shards, which tidies the summary once a @period. */
void rt_look(struct rq *rq, u64 period);

/* @rq's CPU asks for the walks that @who names. */
void rt_request(struct rq *rq, u32 who);

/* @p may use other CPUs from now on. It waits on @rq. */
void rt_allow(struct rq *rq, struct task_struct *p, unsigned long cpus);

void rt_online(struct rq *rq);
void rt_offline(struct rq *rq);

/* Interrupts that are on their way to @rq run; false: there were none. */
bool rt_interrupts(struct rq *rq);

/* A deadline task becomes runnable behind another; the one that runs ends, and the CPU pulls. */
void dl_wait(struct rq *rq);
void dl_finish(struct rq *rq);

/* Before anything runs: @p is runnable on @rq, and runs or waits there. */
void rt_place(struct rq *rq, struct task_struct *p);
void rt_settle(struct rq *rq);

/* Make four CPUs in two shards, and tasks; see rt_class.c. */
bool rt_machine(const struct shard_plan *plan);

/* Deliberate errors of a case. Set-up only. */
enum rt_wrong {
	RT_RIGHT,
	RT_PULL_FIRST, /* queries for waiting tasks before its level falls */
	RT_PUSH_FIRST, /* searches for a CPU before it joins the overload set */
	RT_NOT_ROUND,  /* an interrupt does not go on */
};

extern enum rt_wrong rt_wrong;
extern struct root_domain *rt_rd;
extern struct task_struct *rt_idle;

#endif
