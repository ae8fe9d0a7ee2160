// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cache-aware scheduling: where a process runs, so that its threads can be kept in one last-level
 * cache. This file accounts and decides when to scan; cache_scan.c scans.
 *
 * Who may look at a process's struct sched_cache. It belongs to the signal_struct, which is there
 * as long as any thread is, also one that has exited and is still switching away; so a thread on
 * a run queue always has one. (A mm would not do: exec replaces it, and kernel threads borrow
 * it.) exec takes the struct away while other CPUs may account to it or judge a migration by it:
 * they load the pointer under RCU, under a run queue's lock at the least, and it is freed a grace
 * period later. A scan sleeps, and holds a reference. In the end free_signal_struct() drops what
 * is there.
 *
 * When it is made. By the first scan of a process that has two threads: one with a single thread
 * runs in one cache anyway, and what lives shorter than to its second tick costs nothing.
 *
 * Epochs are counted from one clock for all CPUs, sched_clock_cpu(), so that they need no message
 * to agree; CPUs differ by what their clocks do. Each queue has a copy, renewed under its lock
 * when it is used, which never goes back.
 */
#include <linux/math64.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include "cache_internal.h"

DEFINE_STATIC_KEY_FALSE(sched_cache_on);

/* ---- epochs ---- */

/* From @ns on, when epoch @number began, each epoch takes @period. */
static struct {
	u64 ns;
	u64 period;
	u32 number;
} clock_base = { .period = 10 * NSEC_PER_MSEC };

static DEFINE_RAW_SPINLOCK(clock_lock);
static seqcount_raw_spinlock_t clock_seq = SEQCNT_RAW_SPINLOCK_ZERO(clock_seq, &clock_lock);

u64 sched_cache_period(void)
{
	return READ_ONCE(clock_base.period);
}

/**
 * sched_cache_epoch_at() - the epoch of a time
 * @now: sched_clock_cpu() of any CPU
 * @next: where to store when the next one begins, or NULL
 */
u32 sched_cache_epoch_at(u64 now, u64 *next)
{
	unsigned int seq;
	u64 passed, end;
	u32 epoch;

	do {
		seq = read_seqcount_begin(&clock_seq);
		passed = now > clock_base.ns ? now - clock_base.ns : 0;
		passed = div64_u64(passed, clock_base.period);
		epoch = clock_base.number + (u32)passed;
		end = clock_base.ns + (passed + 1) * clock_base.period;
	} while (read_seqcount_retry(&clock_seq, seq));
	if (next)
		*next = end;
	return epoch;
}

/**
 * sched_cache_set_period() - change how long an epoch takes, from now on
 * @ns: more than 0
 */
void sched_cache_set_period(u64 ns)
{
	unsigned long flags;
	u64 now, next;
	u32 epoch;

	raw_spin_lock_irqsave(&clock_lock, flags);
	now = local_clock();
	epoch = sched_cache_epoch_at(now, &next);
	write_seqcount_begin(&clock_seq);
	clock_base.ns = next;
	clock_base.number = epoch + 1;
	clock_base.period = ns;
	write_seqcount_end(&clock_seq);
	raw_spin_unlock_irqrestore(&clock_lock, flags);
}

/* Bring a queue's epoch up to date. */
static void renew_epoch(struct rq *rq)
{
	struct sched_cache_rq *q = &rq->cache;
	u32 epoch;

	if (likely(rq_clock(rq) < q->next))
		return;
	epoch = sched_cache_epoch_at(rq_clock(rq), &q->next);
	if ((s32)(epoch - q->epoch) > 0)
		q->epoch = epoch;
}

/* ---- accounting ---- */

/*
 * A thread that was not accounted for so long was not accounted at all: the feature was off. It
 * starts now. (The tick of a CPU that does without comes every second.)
 */
#define MOST (2 * NSEC_PER_SEC)

static bool account(struct sched_cache *c, u64 *queue, int cpu, u32 epoch, u64 ns)
{
	return visited_account(c->visited, queue, cpu, epoch, ns);
}

void __sched_cache_account(struct rq *rq, struct task_struct *p)
{
	struct sched_cache_rq *q = &rq->cache;
	u64 ns = p->se.sum_exec_runtime - p->sched_cache.mark;
	struct sched_cache *c;
	u64 before;

	lockdep_assert_rq_held(rq);
	p->sched_cache.mark = p->se.sum_exec_runtime;
	if (!ns || ns > MOST)
		return;
	renew_epoch(rq);
	c = rcu_dereference_sched(p->signal->sched_cache.cache);
	if (!c) {
		WRITE_ONCE(q->runtime, occupancy_add(q->runtime, q->epoch, ns));
		return;
	}
	before = q->runtime;
	if (unlikely(!account(c, &q->runtime, cpu_of(rq), q->epoch, ns))) {
		/*
		 * No block yet for this shard: the next time counts it, wherever that is. The queue
		 * must not have it twice. Who reads it in between sees that others ran less here;
		 * what they themselves ran is still in it.
		 */
		WRITE_ONCE(q->runtime, before);
		p->sched_cache.mark -= ns;
	}
}

/* ---- when to scan ---- */

static bool is_due(struct rq *rq, struct task_struct *p)
{
	struct sched_cache *c = rcu_dereference_sched(p->signal->sched_cache.cache);

	if (!c)
		return get_nr_threads(p) > 1;
	return visited_scan_due(c->visited, rq->cache.epoch) ||
	       visited_pool_low(sched_cache_pool, cpu_of(rq));
}

void __sched_cache_tick(struct rq *rq, struct task_struct *p)
{
	struct callback_head *work = &p->sched_cache.work;

	__sched_cache_account(rq, p);
	renew_epoch(rq);
	if (!p->mm || p->flags & (PF_EXITING | PF_KTHREAD) || work->next != work)
		return;
	if (is_due(rq, p))
		task_work_add(p, work, TWA_RESUME);
}

static void make(struct signal_struct *sig)
{
	struct sched_cache *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return;
	c->home = numa_mem_id();
	c->visited =
		visited_alloc(sched_cache_pool, c->home, sched_cache_epoch_at(local_clock(), NULL));
	if (!c->visited) {
		kfree(c);
		return;
	}
	c->preferred = -1;
	refcount_set(&c->refs, 1);
	/* Full order: who finds it finds it set up. */
	if (cmpxchg((struct sched_cache __force **)&sig->sched_cache.cache, NULL, c))
		sched_cache_put(c); /* another thread was first */
}

static struct sched_cache *get(struct signal_struct *sig)
{
	struct sched_cache *c;

	guard(rcu)();
	c = rcu_dereference(sig->sched_cache.cache);
	return c && refcount_inc_not_zero(&c->refs) ? c : NULL;
}

static void scan_work(struct callback_head *work)
{
	struct sched_cache *c;

	work->next = work;
	if (current->flags & PF_EXITING)
		return;
	c = get(current->signal);
	if (!c) {
		make(current->signal);
		return;
	}
	sched_cache_scan(c);
	sched_cache_put(c);
}

/* ---- the lives of threads and processes ---- */

static void free_cache(struct rcu_head *rcu)
{
	struct sched_cache *c = container_of(rcu, struct sched_cache, rcu);

	visited_free(c->visited);
	kfree(c);
}

void sched_cache_put(struct sched_cache *c)
{
	/* A CPU that found it may be accounting. */
	if (refcount_dec_and_test(&c->refs))
		call_rcu(&c->rcu, free_cache);
}

static void drop(struct signal_struct *sig)
{
	struct sched_cache *c;

	c = xchg((struct sched_cache __force **)&sig->sched_cache.cache, NULL);
	if (c)
		sched_cache_put(c);
}

void sched_cache_fork(struct task_struct *p)
{
	init_task_work(&p->sched_cache.work, scan_work);
	p->sched_cache.work.next = &p->sched_cache.work;
	p->sched_cache.mark = 0;
}

void sched_cache_exec(void)
{
	drop(current->signal);
}

void sched_cache_free(struct signal_struct *sig)
{
	drop(sig);
}
