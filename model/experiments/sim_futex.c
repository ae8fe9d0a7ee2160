// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The lines are those of Linux. A word's hash bucket contains its number of waiters, its lock and
 * the ends of its list. A task contains its place in the list, its lock and state. Each CPU has a
 * run queue. A sleeper raises the number of waiters before it reads the word, and a waker changes
 * the word before it reads the number. So a waker that finds no waiters need not take the lock.
 *
 * No wake-up is lost, for the reasons that rt/futex.c gives. A sleeper compares the word and queues
 * itself under the bucket's lock. An interrupt that arrives before the CPU is idle ends
 * sim_compute() at once.
 *
 * One bucket per word: in Linux two words share a bucket by chance only. Each thread is pinned, and
 * its CPU has no other thread. So the CPU is idle while its thread sleeps. The waker puts the
 * thread on the queue of that CPU, as Linux does where the CPUs share a cache. In Linux a sleeper's
 * CPU that shares no cache with the waker does that itself.
 *
 * The time of each path through the kernel is uniform in [0.5, 1.5] x its mean. With fixed times,
 * two threads that fail and wake each other would stay synchronised.
 */
#include "sim_futex.h"

#include <stdlib.h>

#include "arena.h"
#include "primitive.h"
#include "rt/lock.h"
#include "sim.h"

struct task {
	struct task *next;
	u32 number, lock, asleep;
};

struct bucket {
	u32 waiters, lock;
	struct task *first, *last;
};

struct run_queue {
	u32 lock, nr_running;
};

static struct {
	struct sim_futex_costs costs;
	u32 nr_words, nr_used;
	const u32 **word; /* by bucket */
	struct bucket **bucket;
	struct task **task;	  /* by thread */
	struct run_queue **queue; /* by thread: the queue of its CPU */
	bool *idle;		  /* by thread; a waker reads it in no simulated time */
} futexes;

static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

void sim_futex_begin(u32 nr_threads, u32 nr_words, const int *node,
		     const struct sim_futex_costs *costs)
{
	futexes.costs = *costs;
	futexes.nr_words = nr_words;
	futexes.nr_used = 0;
	futexes.word = need(calloc(nr_words, sizeof(*futexes.word)));
	futexes.bucket = need(calloc(nr_words, sizeof(*futexes.bucket)));
	futexes.task = need(calloc(nr_threads, sizeof(*futexes.task)));
	futexes.queue = need(calloc(nr_threads, sizeof(*futexes.queue)));
	futexes.idle = need(calloc(nr_threads, sizeof(*futexes.idle)));
	for (u32 i = 0; i < nr_words; i++)
		futexes.bucket[i] =
			arena_alloc(sizeof(struct bucket), -1, "futex bucket", "struct bucket");
	for (u32 i = 0; i < nr_threads; i++) {
		futexes.task[i] = arena_alloc(sizeof(struct task), node[i], "task", "struct task");
		futexes.queue[i] = arena_alloc(sizeof(struct run_queue), node[i], "run queue",
					       "struct run_queue");
		futexes.task[i]->number = i;
		futexes.queue[i]->nr_running = 1;
	}
}

void sim_futex_end(void)
{
	free(futexes.word);
	free(futexes.bucket);
	free(futexes.task);
	free(futexes.queue);
	free(futexes.idle);
}

/* Spend @ps on average in a part of the kernel. */
static void spend(u64 ps)
{
	sim_spend(ps / 2 + (ps ? sim_random() % ps : 0));
}

static struct bucket *bucket_of(const u32 *word)
{
	u32 i = 0;

	while (i < futexes.nr_used && futexes.word[i] != word)
		i++;
	PORT_WARN_ON(i == futexes.nr_words);
	if (i == futexes.nr_used)
		futexes.word[futexes.nr_used++] = word;
	return futexes.bucket[i];
}

/* Put a thread on its queue, or take it off. */
static void change_queue(u32 thread, u32 running)
{
	struct run_queue *q = futexes.queue[thread];

	rt_lock(&q->lock);
	spend(futexes.costs.queue);
	WRITE_ONCE(q->nr_running, running);
	rt_unlock(&q->lock);
}

static void be_idle(u32 thread)
{
	const struct sim_futex_costs *costs = &futexes.costs;
	struct task *t = futexes.task[thread];
	bool slept = false;

	spend(costs->schedule);
	if (READ_ONCE(t->asleep)) {
		change_queue(thread, 0);
		spend(costs->context_switch);
		while (READ_ONCE(t->asleep)) {
			slept = true;
			futexes.idle[thread] = true;
			sim_compute(UINT64_MAX);
			futexes.idle[thread] = false;
		}
		if (slept)
			spend(costs->idle_exit + costs->irq);
		spend(costs->schedule + costs->context_switch);
	}
}

void primitive_sleep(u32 *word, u32 value, const struct primitive_thread *thread)
{
	struct bucket *b = bucket_of(word);
	struct task *t = futexes.task[thread->number];

	spend(futexes.costs.syscall + futexes.costs.futex_wait);
	__atomic_fetch_add(&b->waiters, 1, __ATOMIC_SEQ_CST);
	rt_lock(&b->lock);
	if (READ_ONCE(*word) != value) {
		rt_unlock(&b->lock);
		__atomic_fetch_sub(&b->waiters, 1, __ATOMIC_SEQ_CST);
		return;
	}
	WRITE_ONCE(t->next, NULL);
	WRITE_ONCE(t->asleep, 1);
	if (b->first)
		WRITE_ONCE(b->last->next, t);
	else
		WRITE_ONCE(b->first, t);
	WRITE_ONCE(b->last, t);
	rt_unlock(&b->lock);
	be_idle(thread->number);
}

static struct task *take_first(struct bucket *b)
{
	struct task *t;

	rt_lock(&b->lock);
	t = READ_ONCE(b->first);
	if (t) {
		WRITE_ONCE(b->first, READ_ONCE(t->next));
		__atomic_fetch_sub(&b->waiters, 1, __ATOMIC_SEQ_CST);
	}
	rt_unlock(&b->lock);
	return t;
}

void primitive_wake(u32 *word, const struct primitive_thread *thread)
{
	const struct sim_futex_costs *costs = &futexes.costs;
	struct bucket *b = bucket_of(word);
	struct task *t;

	(void)thread;
	spend(costs->syscall + costs->futex_wake);
	if (!READ_ONCE(b->waiters))
		return;
	t = take_first(b);
	if (!t)
		return;
	spend(costs->wake);
	rt_lock(&t->lock);
	WRITE_ONCE(t->asleep, 0);
	rt_unlock(&t->lock);
	change_queue(t->number, 1);
	/* An idle CPU monitors its line: a store there wakes it, without an interrupt. */
	if (!futexes.idle[t->number])
		spend(costs->ipi_send);
	sim_interrupt(t->number, costs->ipi_travel);
}
