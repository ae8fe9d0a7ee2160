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
 * every put must use sbm_put_wake() or slot_put_wake(), or be followed by shard_wait_wake_near().
 * Then no wake-up is lost; shard_wait.c explains why. While no thread waits, such a put reads one
 * more line, but does not write it. A few puts after the last waiter has left look for waiters in a
 * line of each last-level cache.
 *
 * Order: near waiters come first, but threads that do not sleep may overtake them. Therefore a
 * thread that has slept for 1 ms enters a queue, first in, first out. From then on every put gives
 * what it puts to the head of the queue. So of the puts that begin later, at most one for each
 * thread in front of it goes to another thread.
 *
 * shard_wait_close() ends all waiting. Waiting is a cancellation point of pthread_cancel(); a
 * cancelled waiter passes on what came for it.
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
 * Return: the claimed CPU number, or -1 with errno ETIMEDOUT if none became free in time, ECANCELED
 * if shard_wait_close() was called. Context: may sleep; not in a signal handler. Ordering: as
 * sbm_claim_near().
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
 * slot_put_near() that wakes a waiter near @cpu. Context: any, except signal handlers once the set
 * has had a cache. Ordering: a full barrier after the put.
 */
void slot_put_wake(struct slot_set *s, struct shard_wait *w, u32 slot, u32 cpu);

/* slot_cache_put() that wakes a waiter: if any thread waits, it gets a slot. */
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
 * Wake all waiters, which get nothing, and make all later waits fail at once. Puts are still
 * allowed. To end a pool, call this function, join the threads, and call shard_wait_free().
 * Context: any.
 */
void shard_wait_close(struct shard_wait *w);

/* How many threads wait. Reads a line per cache, and takes a lock: not in a signal handler. */
u32 shard_wait_nr(const struct shard_wait *w);

#ifdef __cplusplus
}
#endif

#endif
