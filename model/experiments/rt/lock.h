/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * lock.h - a ticket lock: first come, first served, like the kernel's queued spinlock.
 *
 *            | lock            | trylock          | unlock
 *  lock      | waits in line   | ok, fails        | ok
 *  trylock   | ok              | one succeeds     | ok
 *  unlock    | ok              | ok               | never: one owner
 *
 * One word of simulated memory: the low half is the ticket being served, the high half the next
 * ticket. A waiter reads again after a time proportional to the number of waiters before it. In the
 * kernel a waiter spins on its own line, which causes no traffic on the lock's line. If a waiter
 * read the lock's line all the time, that line would be busier than in the kernel, and the
 * simulator would process far more events.
 *
 * Ordering: lock acquires, unlock releases. Line touched: the lock's own.
 */
#ifndef EXPERIMENTS_RT_LOCK_H
#define EXPERIMENTS_RT_LOCK_H

#include "port.h"
#include "sim.h"

#define RT_LOCK_BACKOFF 60000 /* ps per waiter in front: about one transfer of a line */

static inline void rt_lock(u32 *lock)
{
	u32 seen = __atomic_fetch_add(lock, 1u << 16, __ATOMIC_ACQUIRE);
	u16 mine = (u16)(seen >> 16), before;

	while ((before = (u16)(mine - (u16)seen)) != 0) {
		sim_spend((u64)before * RT_LOCK_BACKOFF);
		seen = smp_load_acquire(lock);
	}
}

static inline bool rt_trylock(u32 *lock)
{
	u32 seen = READ_ONCE(*lock);

	if ((u16)(seen >> 16) != (u16)seen)
		return false;
	return __atomic_compare_exchange_n(lock, &seen, seen + (1u << 16), false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static inline void rt_unlock(u32 *lock)
{
	u16 *served = (u16 *)lock; /* little endian, like the simulated machine */

	smp_store_release(served, (u16)(*served + 1));
}

#endif
