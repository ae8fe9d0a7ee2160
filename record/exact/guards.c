// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Static objects in C++ functions: one thread constructs the object, others wait. The C++ library's
 * functions do that. A thread that finds the object constructed has only loaded the guard, so the
 * guard must carry the order.
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
