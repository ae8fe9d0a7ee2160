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
 * more line, and writes none. Waiters near the put are woken first, otherwise in no particular
 * order.
 *
 * Concurrency: all calls may overlap. Threads of one process only.
 */
#ifndef SCHEDSHARD_CLAIM_WAIT_H
#define SCHEDSHARD_CLAIM_WAIT_H

#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "sbm_claim.h"
#include "shard_wait.h"
#include "slot_claim.h"

/**
 * sbm_claim_wait() - sbm_claim_near() that sleeps until it gets a bit
 * @b: the set
 * @w: its waiters, of the same plan
 * @cpu: CPU number to start from; any number of threads may have the same one
 * @timeout_ns: nanoseconds after which it gives up; 0: it does not sleep; negative: no limit
 *
 * Return: the CPU number that it claimed; -1: the time passed without one. Context: may sleep; not
 * in a signal handler. Ordering: as sbm_claim_near().
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

/* slot_put_near() that wakes a waiter near @cpu. Ordering: a full barrier after the put. */
void slot_put_wake(struct slot_set *s, struct shard_wait *w, u32 slot, u32 cpu);

/**
 * shard_wait_wake_near() - wake one waiter, the nearest
 * @w: the waiters
 * @cpu: CPU number to start from
 *
 * Call it right after an atomic operation that set a bit, and nr times after slot_set_grow(s, nr).
 */
void shard_wait_wake_near(struct shard_wait *w, u32 cpu);

#ifdef __cplusplus
}
#endif

#endif
