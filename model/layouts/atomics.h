/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * atomics.h - Linux's 32-bit atomics and a spinlock on plain objects, for the layouts that use
 * them. They run only in user space and on the simulated machine, so they can use builtins. The
 * barriers are in port.h.
 *
 * Ordering: an operation without a result orders nothing by itself (smp_mb__before_atomic() and
 * smp_mb__after_atomic() do); one with a result is a full barrier.
 */
#ifndef LAYOUTS_ATOMICS_H
#define LAYOUTS_ATOMICS_H

#include "port.h"

static port_always_inline void atomic_inc32(u32 *p)
{
	__atomic_fetch_add(p, 1, __ATOMIC_RELAXED);
}

static port_always_inline void atomic_dec32(u32 *p)
{
	__atomic_fetch_sub(p, 1, __ATOMIC_RELAXED);
}

static port_always_inline u32 atomic_or32(u32 *p, u32 bits)
{
	return PORT_FULL_ORDER(u32, __atomic_fetch_or(p, bits, __ATOMIC_SEQ_CST));
}

/* Store @val if *@p is @old. Return: has it stored @val? If so, it is an acquire. */
static port_always_inline bool atomic_try32(u32 *p, u32 old, u32 val)
{
	return __atomic_compare_exchange_n(p, &old, val, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Take a lock word. Waiters read it, and so share the line until the lock is free. */
static inline void lock32(u32 *lock)
{
	while (READ_ONCE(*lock) || !atomic_try32(lock, 0, 1))
		cpu_relax();
}

static inline void unlock32(u32 *lock)
{
	smp_store_release(lock, 0); /* pairs with the acquire of atomic_try32() in lock32() */
}

#endif
