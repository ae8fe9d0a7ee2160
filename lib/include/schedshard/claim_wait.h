/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * claim_wait.h - wait for a slot of a set, and wake the waiters.
 *
 *	struct slot_set *tags = slot_set_create(64);
 *	struct shard_wait *waiters = shard_wait_alloc(tags->plan);
 *
 *	slot = slot_claim_wait(tags, waiters, shard_this_cpu(), -1);
 *	...
 *	slot_put_wake(tags, waiters, (u32)slot, shard_this_cpu());
 *
 * If threads may wait for a set, each put must use a function below, or be followed by
 * shard_wait_wake_near(). Then no wake-up is lost; shard_wait.c explains why. While no thread
 * waits, a put below reads one line more than slot_put_near(), but does not write that line. After
 * the last waiter has left, a few puts look for waiters in a line of each last-level cache.
 *
 * Order: near waiters come first, but threads that do not sleep may overtake them. Therefore a
 * thread that has slept for 1 ms enters a queue, first in, first out. From then on every put gives
 * its slot to the head of the queue. So a queued thread waits for at most one later put per thread
 * in front of it, and gets the slot of the next put.
 *
 * shard_wait_close() ends all waiting. Waiting is a cancellation point of pthread_cancel(); a
 * cancelled waiter passes on the slot that was meant for it.
 *
 * Concurrency: all calls may overlap. Only threads of one process may share waiters; a forked child
 * must make new ones, because it does not inherit those of its parent.
 */
#ifndef SCHEDSHARD_CLAIM_WAIT_H
#define SCHEDSHARD_CLAIM_WAIT_H

#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "shard_wait.h"
#include "slot_cache.h"

/**
 * slot_claim_wait() - slot_claim_near() that sleeps until it gets a slot
 * @s: the set
 * @w: its waiters, of a plan with the same CPUs
 * @cpu: CPU number to start from; any number of threads may have the same one
 * @timeout_ns: nanoseconds after which it gives up; 0: it does not sleep; negative: no limit
 *
 * Return: the slot's number, or -1 with errno ETIMEDOUT if none became free in time, ECANCELED if
 * shard_wait_close() was called. Context: may sleep; not in a signal handler. Ordering: as
 * slot_claim_near().
 */
s64 slot_claim_wait(struct slot_set *s, struct shard_wait *w, u32 cpu, s64 timeout_ns);

/*
 * slot_put_near() that wakes a waiter near @cpu. Context: any, except signal handlers once the set
 * has had a cache. Ordering: a full barrier after the put.
 */
void slot_put_wake(struct slot_set *s, struct shard_wait *w, u32 slot, u32 cpu);

/* slot_put_n() that wakes up to @n waiters. Context, ordering: as slot_put_wake(). */
void slot_put_n_wake(struct slot_set *s, struct shard_wait *w, u32 cpu, u32 n, const u32 *slots);

/* slot_cache_put() that wakes a waiter: if any thread waits, a waiter gets a slot. */
void slot_cache_put_wake(struct slot_cache *c, struct shard_wait *w, u32 slot);

/**
 * shard_wait_wake_near() - wake one waiter, the nearest
 * @w: the waiters
 * @cpu: CPU number to start from
 *
 * Call it right after a put, and nr times after slot_set_grow(s, nr).
 */
void shard_wait_wake_near(struct shard_wait *w, u32 cpu);

/*
 * A waiter that does not sleep, for a program with a poll loop that waits until @fd is readable.
 * Only slot_poll_claim() reads from @fd. One thread at a time may use a slot_poll.
 *
 *	slot = slot_poll_claim(p);
 *	if (slot < 0 && errno == EAGAIN)
 *		call it again once poll() says that p->fd is readable
 *
 * After EAGAIN the slot_poll is in the queue of threads that have slept for 1 ms. So a slot may be
 * kept for it, and the threads behind it wait for slot_poll_claim() or slot_poll_free().
 */
struct slot_poll {
	struct slot_set *set;
	int fd;
};

/* Return: NULL with errno, if there is no memory or descriptor. */
struct slot_poll *slot_poll_alloc(struct slot_set *s, struct shard_wait *w, u32 cpu);

/* Claim a slot. Return: its number, or -1 with errno EAGAIN, or ECANCELED as slot_claim_wait(). */
s64 slot_poll_claim(struct slot_poll *p);

/* Stop waiting, close the descriptor, and free @p, or NULL. */
void slot_poll_free(struct slot_poll *p);

/*
 * Wake all waiters, which get nothing, and make all later waits fail at once. Puts are still
 * allowed. To end a pool call this, join the threads, and call shard_wait_free(). Context: any.
 */
void shard_wait_close(struct shard_wait *w);

/* How many threads wait. Reads a line per cache, and takes a lock: not in a signal handler. */
u32 shard_wait_nr(const struct shard_wait *w);

#ifdef __cplusplus
}
#endif

#endif
