// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cache-aware scheduling: where a process runs, so that its threads can be kept in one last-level
 * cache. This file accounts and decides when to scan; cache_scan.c scans.
 *
 * Lifetime. A process's struct sched_cache belongs to the signal_struct, which lives as long as any
 * thread, even one that has exited and is still switching away. So a thread on a run queue always
 * has one. (An mm would not do: exec replaces it, and kernel threads borrow it.) exec removes the
 * struct while other CPUs may account to it or judge a migration by it. They load the pointer under
 * RCU, at least under a run queue's lock, and RCU frees the struct a grace period later. A scan
 * sleeps, and holds a reference. In the end free_signal_struct() drops the struct.
 *
 * Creation. The first scan of a process with two threads makes the struct. A single thread runs in
 * one cache anyway, and a process that ends before its second tick costs nothing.
 *
 * Epochs. All CPUs count epochs from one clock, sched_clock_cpu(), so that they agree without a
 * message, up to the difference of their clocks. Each queue has a copy, which a user renews under
 * its lock, and which never goes back.
 */
#include <linux/math64.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include "cache_internal.h"

DEFINE_STATIC_KEY_FALSE(sched_cache_on);

/* From @ns on, when epoch @number began, each epoch lasts @period. */
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

/*
 * The epoch of a time of any CPU's sched_clock_cpu(); in @next, if not NULL, when the next one
 * begins.
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

/* Change the length of an epoch, more than 0, from now on. */
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

/*
 * If a thread was not accounted for this long, the feature was off. Accounting starts now. (A tick
 * of a CPU with its tick stopped comes every second.)
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
		 * No block yet for this shard: the next call counts the time, on whichever CPU. The
		 * queue must not count it twice. A reader in between sees less runtime of others
		 * here, and all of its own.
		 */
		WRITE_ONCE(q->runtime, before);
		p->sched_cache.mark -= ns;
	}
}

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
	/* Full order: pairs with the readers' rcu_dereference(), which find the struct set up. */
	if (cmpxchg((struct sched_cache __force **)&sig->sched_cache.cache, NULL, c))
		sched_cache_put(c); /* another thread did it first */
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

static void free_cache(struct rcu_head *rcu)
{
	struct sched_cache *c = container_of(rcu, struct sched_cache, rcu);

	visited_free(c->visited);
	kfree(c);
}

void sched_cache_put(struct sched_cache *c)
{
	/* A CPU that found it may still account to it. */
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
