/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Counts, by shard, the waiters for a slot of a set. A waker finds a waiter near it, and no wake-up
 * is lost. The caller decides how a thread sleeps: lib/claim_wait.c uses futexes. Private to core/
 * and lib/.
 *
 *	A waiter:				A waker:
 *
 *	shard_wait_join(w, cpu);		slot_put(set, slot);
 *	slot = slot_claim_near(set, cpu);	at = shard_wait_wake(w, cpu);
 *	found: shard_wait_leave(w, cpu),	if (at)
 *	       true: wake another one			wake one that sleeps at @at
 *	else:  sleep until
 *	       shard_wait_woken(w, cpu),
 *	       then all of this again
 *
 * One waiter at a time may ask to be the first. The next shard_wait_give() then hands a slot to
 * that waiter instead of putting the slot into the set, so no search can take it first.
 *
 *	The first waiter:			A waker:
 *
 *	shard_wait_ask(w, &got);		at = shard_wait_give(w, slot + 1);
 *	slot = slot_claim_near(set, cpu);	if (at)
 *	found: shard_wait_unask(w, &got),		wake the one that sleeps at @at
 *	       false: @got has another one	else
 *	else:  sleep until @got is not 0		slot_put(set, slot), and so on, as above
 *
 * Concurrency: all calls may overlap. A waiter joins, then leaves or is woken once, all for one CPU
 * number. Only one waiter may ask at a time.
 *
 * Context: any. Ordering: as each function says. CPU numbers must be those of possible CPUs of the
 * plan; no function checks them.
 */
#ifndef SHARD_SIGNAL_H
#define SHARD_SIGNAL_H

#include "port.h"
#include "shard_wait.h"

/*
 * The shards of a last-level cache share a line. Its first word counts waiters, and signals
 * (wake-ups that no waiter has taken yet).
 */
#define SHARD_WAIT_ONE	     (1ull << 32) /* one waiter; the low half counts signals */
#define SHARD_WAIT_SIGNAL    1ull	  /* one signal */
#define SHARD_WAIT_CLOSED    (1ull << 31) /* in the low half: nobody sleeps any more */
#define SHARD_WAIT_NOTED_BIT 63		  /* the line is counted in @noted */
#define SHARD_WAIT_NOTED     (1ull << SHARD_WAIT_NOTED_BIT)
#define SHARD_WAIT_KEEP	     16 /* so many wakers of a shard find nobody before one removes notes */

#define SHARD_WAIT_AGAIN 0xffffffffu /* tells the first waiter to claim again */

/* A place in the queue of waiters that ask one after the other; lib/claim_wait.c. */
struct shard_wait_turn {
	struct shard_wait_turn *next;
	u32 got;   /* 0: nothing yet; SHARD_WAIT_AGAIN; or what it got, plus 1 */
	u32 event; /* a descriptor plus 1, for shard_wait.notify, or 0 */
};

/**
 * struct shard_wait - waiters by shard
 * @plan: the plan; must outlive this
 * @bytes: memory of this header with its table
 * @queue: the waiters that ask or will ask, in the order in which they came; under a lock
 * @notify: called with the @got of a waiter before something is stored there, or NULL
 * @noted: in the lower half, at least the number of noted lines (those that may have waiters)
 * @first: address of the @got of the waiter that asks, or 0
 * @closed: nobody waits any more
 * @line: by shard: waiters and signals, on the line of the last-level cache
 * @in_vain: by shard: how many wakers found nobody
 * @of_llc: @line by last-level cache
 */
struct shard_wait {
	const struct shard_plan *plan;
	size_t bytes;
	struct shard_wait_turn *queue;
	u64 **in_vain;
	u64 **of_llc;
	void (*notify)(u32 *got);
	u64 noted __aligned(PORT_CACHELINE);
	u64 first;
	u64 closed;
	u64 *line[] __aligned(PORT_CACHELINE);
};

/*
 * Count the caller as a waiter of a CPU's shard. Ordering: a full barrier at the end. So a waker
 * that puts a slot either sees this waiter, or this waiter's next claim sees it.
 */
void shard_wait_join(struct shard_wait *w, u32 cpu);

/*
 * Stop waiting, without a wake-up. Return: true if a wake-up was meant for this waiter. The caller
 * must then pass it on with shard_wait_wake(). Ordering: a full barrier.
 */
bool shard_wait_leave(struct shard_wait *w, u32 cpu);

/*
 * Take a signal of the CPU's shard, if there is one. Return: true if the caller has taken a signal,
 * and so no longer counts as a waiter; then also a full barrier.
 */
bool shard_wait_woken(struct shard_wait *w, u32 cpu);

/*
 * Ask to be the first (see above), then claim. Stores 0 in @got. Ordering: a full barrier at the
 * end.
 */
void shard_wait_ask(struct shard_wait *w, u32 *got);

/* Stop asking. False if a waker has stored something in @got, or is about to. */
bool shard_wait_unask(struct shard_wait *w, u32 *got);

/*
 * Give @value, not 0, to the waiter that asks. Return: where that waiter sleeps, or NULL if no
 * waiter asks, so that nothing was given. Ordering: a full barrier, then a release that pairs with
 * the waiter's acquire of @got. Lines touched: that of @first, read; written if somebody asks.
 */
u32 *shard_wait_give(struct shard_wait *w, u32 value);

/* The lower half of a line's first word: its signals. A waiter sleeps while this half is 0. */
static inline u32 *shard_wait_half(u64 *line)
{
	u32 *half = (u32 *)line;

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return half + 1;
#else
	return half;
#endif
}

static inline u32 *shard_wait_signals(const struct shard_wait *w, u32 cpu)
{
	return shard_wait_half(w->line[w->plan->slot[cpu].shard]);
}

/*
 * Wake a waiter near a CPU: of its last-level cache, else of the next caches in topology order.
 * Called right after an atomic operation on the set, such as slot_put(). A waiter that asks comes
 * before all others, and gets SHARD_WAIT_AGAIN. Return: where the waiter may sleep, or NULL if each
 * waiter already has a signal. Ordering: a full barrier between the atomic operation and the look
 * for waiters. Lines touched: that of @noted and @first, read; if somebody waits, also lines of
 * near caches are read, and one is written.
 */
u32 *shard_wait_wake(struct shard_wait *w, u32 cpu);

#endif /* SHARD_SIGNAL_H */
