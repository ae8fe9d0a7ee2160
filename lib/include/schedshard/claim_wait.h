/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * claim_wait.h - wait for a bit of a set or for a slot, and wake the waiters.
 *
 *	struct sbm *idle = sbm_create();
 *	struct shard_wait *waiters = shard_wait_alloc(idle->plan);
 *
 *	cpu = sbm_claim_wait(idle, waiters, shard_this_cpu(), -1);
 *	...
 *	sbm_put_wake(idle, waiters, (u32)cpu);
 *
 * For sets of slots there are slot_claim_wait() and slot_put_wake(). If threads may wait for a set,
 * every put uses sbm_put_wake() or slot_put_wake(), or is followed by shard_wait_wake_near(). No
 * wake-up is lost: the argument is in shard_wait.c. While no thread waits, such a put reads one
 * more line, and writes none.
 *
 * Order: near waiters first, and threads that do not sleep before them. A thread that has slept for
 * 1 ms enters a queue, first in, first out. From then on every put gives what it puts to the head
 * of the queue. So of the puts that begin later at most one for each thread in front passes it
 * over.
 *
 * shard_wait_close() ends all waiting. A waiter is a cancellation point of pthread_cancel(), and a
 * cancelled one passes on what came for it.
 *
 * Concurrency: all calls may overlap. Threads of one process only; a forked child does not inherit
 * the waiters of its parent, and makes new ones.
 */
#ifndef SCHEDSHARD_CLAIM_WAIT_H
#define SCHEDSHARD_CLAIM_WAIT_H

#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "sbm_claim.h"
#include "shard_wait.h"
#include "slot_cache.h"

/**
 * sbm_claim_wait() - sbm_claim_near() that sleeps until it gets a bit
 * @b: the set
 * @w: its waiters, of the same plan
 * @cpu: CPU number to start from; any number of threads may have the same one
 * @timeout_ns: nanoseconds after which it gives up; 0: it does not sleep; negative: no limit
 *
 * Return: the CPU number that it claimed; -1 with errno: ETIMEDOUT: the time passed without one;
 * ECANCELED: shard_wait_close() was called, and it claimed nothing. Context: may sleep; not in a
 * signal handler. Ordering: as sbm_claim_near().
 */
s64 sbm_claim_wait(struct sbm *b, struct shard_wait *w, u32 cpu, s64 timeout_ns);

/**
 * sbm_put_wake() - sbm_put() that wakes a waiter near the CPU
 * @b: the set
 * @w: its waiters
 * @cpu: CPU number whose bit to set
 *
 * Context: any. Ordering: as sbm_put(), and a full barrier after it.
 */
void sbm_put_wake(struct sbm *b, struct shard_wait *w, u32 cpu);

/* sbm_claim_wait() for a set of slots: returns a slot, or -1. */
s64 slot_claim_wait(struct slot_set *s, struct shard_wait *w, u32 cpu, s64 timeout_ns);

/*
 * slot_put_near() that wakes a waiter near @cpu. Context: any, but no signal handler once the set
 * has had a cache. Ordering: a full barrier after the put.
 */
void slot_put_wake(struct slot_set *s, struct shard_wait *w, u32 slot, u32 cpu);

/* slot_cache_put() that wakes a waiter: if any thread waits, a slot goes there. */
void slot_cache_put_wake(struct slot_cache *c, struct shard_wait *w, u32 slot);

/**
 * shard_wait_wake_near() - wake one waiter, the nearest
 * @w: the waiters
 * @cpu: CPU number to start from
 *
 * Call it right after an atomic operation that set a bit, and nr times after slot_set_grow(s, nr).
 */
void shard_wait_wake_near(struct shard_wait *w, u32 cpu);

/*
 * Wake all waiters, which get nothing, and make all later waits fail at once. Puts may go on. For
 * the end of a pool: then join the threads, and call shard_wait_free(). Context: any.
 */
void shard_wait_close(struct shard_wait *w);

#ifdef __cplusplus
}
#endif

#endif
