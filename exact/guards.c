// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Static objects of C++ functions: one thread makes the object, others wait. The C++ library's own
 * functions do it. A thread that finds the object made has loaded the guard by itself, so the
 * guard must say who made it.
 */
#include "order.h"
#include "real.h"

API int __cxa_guard_acquire(void *guard);
API void __cxa_guard_release(void *guard);

API int __cxa_guard_acquire(void *guard)
{
	int mine = REAL(int, __cxa_guard_acquire, (void *))(guard);

	if (exact_on())
		order_atomic(guard, ORDER_LOAD, __ATOMIC_ACQUIRE);
	return mine;
}

API void __cxa_guard_release(void *guard)
{
	if (exact_on())
		order_atomic(guard, ORDER_STORE, __ATOMIC_RELEASE);
	REAL(void, __cxa_guard_release, (void *))(guard);
}
