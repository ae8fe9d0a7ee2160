// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why no wake-up is lost: no waiter sleeps forever while a bit is set.
 *
 *   A waiter:                           A waker:
 *
 *   W1  count itself in its shard       K1  set the bit
 *   W2  count itself in the total       K2  full barrier
 *   W3  full barrier                    K3  load the total; 0: done
 *   W4  claim a bit; found: leave       K4  find a shard with more waiters than
 *   W5  sleep while there is no signal      signals, and add a signal there
 *
 * If K3 or K4 does not see W1 and W2, the two full barriers make W4 see K1 (store buffering). If
 * they see them, there is a signal in the waiter's shard, from this waker or from another one.
 *
 * There are never more signals than waiters: K4 adds a signal only where there are more waiters. A
 * waiter that takes a signal claims again, and joins again before it sleeps again. So the argument
 * above applies to each bit that was set before it joined.
 *
 * A waiter that found a bit by itself leaves. If there are as many signals as waiters, one signal
 * was for this waiter: it takes the signal, and wakes another waiter. Otherwise that waiter would
 * sleep although the bit of that signal is set. If there are fewer signals than waiters, they are
 * for the others. Linux's sbitmap lost wake-ups of both kinds: a waker that looked too early, and a
 * wake-up that nobody passed on.
 *
 * A compare-and-swap changes both counts of a shard's word at once. Between W1 and W2 a waker may
 * see a total of 0, which does no harm because W4 comes later.
 *
 * The waiter that asks: A1 stores @first, A2 is a full barrier, A3 claims. If a put's load of
 * @first after K2 misses A1, then A3 sees K1. If it sees A1, the waiter gets SHARD_WAIT_AGAIN, and
 * does A1 to A3 again. Only the thread whose compare-and-swap clears @first stores @got. So a
 * waiter that could not clear @first itself has been given something, and waits for that store.
 * Once A1 is visible, what a put gives to the waiter was never free, so nobody can take it first.
 *
 * A summary by shard in place of the total was slower: a put visited shards whose waiters had left.
 * For join, claim, leave and put on epyc-9654-2s the model predicts 814 ns with 2 threads and
 * 242,000 ns with 192 threads. With the total it predicts 149 ns and 36,300 ns.
 */
#include "shard_lines.h"
#include "shard_signal.h"

struct shard_wait *shard_wait_alloc(const struct shard_plan *plan)
{
	size_t bytes = sizeof(struct shard_wait) + plan->nr_shards * sizeof(u64 *);
	struct shard_wait *w = (struct shard_wait *)port_alloc(bytes, -1);

	if (!w)
		return NULL;
	w->plan = plan;
	w->bytes = bytes;
	if (!shard_lines_alloc(plan, w->line)) {
		port_free(w, bytes);
		return NULL;
	}
	return w;
}

void shard_wait_free(struct shard_wait *w)
{
	if (!w)
		return;
	shard_lines_free(w->plan, w->line);
	port_free(w, w->bytes);
}

static u64 *line_of(const struct shard_wait *w, u32 cpu)
{
	return w->line[w->plan->slot[cpu].shard];
}

static u32 signals_of(u64 word)
{
	return (u32)(word & ~SHARD_WAIT_CLOSED);
}

static u32 waiters_of(u64 word)
{
	return (u32)(word >> 32);
}

void shard_wait_join(struct shard_wait *w, u32 cpu)
{
	port_fetch_add64(line_of(w, cpu), SHARD_WAIT_ONE); /* W1 */
	port_fetch_add64(&w->total, 1);			   /* W2; W3: pairs with K2 */
}

/* Remove a waiter: one that leaves, or one with a signal. Return: was there a signal for it? */
static bool take_off(struct shard_wait *w, u32 cpu, bool leaves)
{
	u64 *line = line_of(w, cpu), word = READ_ONCE(*line), seen;
	bool signal;

	for (;; word = seen) {
		if (leaves)
			signal = signals_of(word) == waiters_of(word);
		else
			signal = signals_of(word) > 0;
		if (!leaves && !signal)
			return false;
		seen = port_cmpxchg64(line, word, word - SHARD_WAIT_ONE - signal);
		if (seen == word)
			break;
	}
	port_fetch_add64(&w->total, (u64)-1);
	return signal;
}

bool shard_wait_leave(struct shard_wait *w, u32 cpu)
{
	return take_off(w, cpu, true);
}

bool shard_wait_woken(struct shard_wait *w, u32 cpu)
{
	return take_off(w, cpu, false);
}

/* Add a signal to a shard if a waiter there has none. */
static bool signal_one(u64 *line)
{
	u64 word = READ_ONCE(*line), seen;

	while (waiters_of(word) > signals_of(word)) {
		seen = port_cmpxchg64(line, word, word + SHARD_WAIT_SIGNAL);
		if (seen == word)
			return true;
		word = seen;
	}
	return false;
}

void shard_wait_ask(struct shard_wait *w, u32 *got)
{
	WRITE_ONCE(*got, 0);
	port_xchg64(&w->first, (uintptr_t)got); /* A1; A2: pairs with K2 */
}

bool shard_wait_unask(struct shard_wait *w, u32 *got)
{
	return port_cmpxchg64(&w->first, (uintptr_t)got, 0) == (uintptr_t)got;
}

u32 *shard_wait_give(struct shard_wait *w, u32 value)
{
	u64 first = port_read64(&w->first);
	u32 *got = (u32 *)(uintptr_t)first;

	if (likely(!first) || port_cmpxchg64(&w->first, first, 0) != first)
		return NULL;
	/* Pairs with the waiter's acquire: it sees what was done earlier with what it is given. */
	smp_store_release(got, value);
	return got;
}

u32 *shard_wait_wake(struct shard_wait *w, u32 cpu)
{
	struct shard_near_iter near;
	u32 shard, *first;

	smp_mb__after_atomic(); /* K2: pairs with W3 and A2; without it K3 may come before K1 */
	first = shard_wait_give(w, SHARD_WAIT_AGAIN);
	if (unlikely(first))
		return first;
	if (likely(!port_read64(&w->total)))
		return NULL;
	shard = shard_near_begin(&near, w->plan, cpu);
	do {
		if (signal_one(w->line[shard]))
			return shard_wait_signals(w, w->plan->shard_cpus[shard][0]);
	} while (shard_near_next(&near, &shard));
	return NULL;
}
