// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Implements atomic operations of 16 bytes. With -fsanitize=thread compilers call the functions
 * __tsan_*, otherwise those of libatomic; this file has both. Every function uses cmpxchg16b, in a
 * loop unless it is a load or a compare-and-swap. The load uses it as well, as in libatomic on a
 * CPU without atomic 16-byte loads. So the model counts each function as one locked operation
 * (lines_locked(), which may switch threads). No other thread runs between that call and the
 * cmpxchg16b.
 *
 * For sizes that no instruction supports, libatomic's functions are called, which use locks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "real.h"
#include "spin.h"

typedef unsigned __int128 wide;

#define HERE __builtin_return_address(0)

enum op { XCHG, ADD, SUB, AND, OR, XOR, NAND };

static wide result_of(enum op op, wide old, wide v)
{
	switch (op) {
	case ADD:
		return old + v;
	case SUB:
		return old - v;
	case AND:
		return old & v;
	case OR:
		return old | v;
	case XOR:
		return old ^ v;
	case NAND:
		return ~(old & v);
	default:
		return v;
	}
}

/* Return: the old value. */
static wide swapped(volatile void *at, wide expected, wide desired)
{
	return __sync_val_compare_and_swap((volatile wide *)at, expected, desired);
}

static wide cas(volatile void *at, wide expected, wide desired, const void *pc)
{
	wide old;

	if (!lines_mine)
		return swapped(at, expected, desired);
	lines_locked(at, pc);
	old = swapped(at, expected, desired);
	if (old == expected && old != desired) {
		spin_wrote(at);
		spin_wrote((volatile char *)at + 8);
	} else {
		spin_event(at);
	}
	return old;
}

static wide rmw(volatile void *at, enum op op, wide v, const void *pc)
{
	wide old, was;

	if (lines_mine)
		lines_locked(at, pc);
	was = swapped(at, 0, 0);
	do {
		old = was;
		was = swapped(at, old, result_of(op, old, v));
	} while (was != old);
	if (lines_mine) {
		spin_wrote(at);
		spin_wrote((volatile char *)at + 8);
	}
	return old;
}

static int exchanged(volatile void *at, void *expected, wide desired, const void *pc)
{
	wide want, old;

	memcpy(&want, expected, sizeof(want));
	old = cas(at, want, desired, pc);
	memcpy(expected, &old, sizeof(old));
	return old == want;
}

/* ---- functions that compilers call ---- */

API wide __tsan_atomic128_load(const volatile void *at, int mo);
API void __tsan_atomic128_store(volatile void *at, wide v, int mo);
API wide __tsan_atomic128_compare_exchange_val(volatile void *at, wide expected, wide desired,
					       int mo, int fail_mo);
API int __tsan_atomic128_compare_exchange_strong(volatile void *at, void *expected, wide desired,
						 int mo, int fail_mo);
/* The compiler knows these names with other types. */
#define NAMED(name) __asm__(#name)
API bool cas_16(volatile void *at, void *expected, wide desired, int mo, int fail_mo)
	NAMED(__atomic_compare_exchange_16);

#define ALIAS(name) __attribute__((alias(#name)))

API wide __tsan_atomic128_load(const volatile void *at, int mo)
{
	return cas((volatile void *)(uintptr_t)at, 0, 0, HERE);
}
API wide __atomic_load_16(const volatile void *at, int mo) ALIAS(__tsan_atomic128_load);

API void __tsan_atomic128_store(volatile void *at, wide v, int mo)
{
	rmw(at, XCHG, v, HERE);
}
API void __atomic_store_16(volatile void *at, wide v, int mo) ALIAS(__tsan_atomic128_store);

API wide __tsan_atomic128_compare_exchange_val(volatile void *at, wide expected, wide desired,
					       int mo, int fail_mo)
{
	return cas(at, expected, desired, HERE);
}

API int __tsan_atomic128_compare_exchange_strong(volatile void *at, void *expected, wide desired,
						 int mo, int fail_mo)
{
	return exchanged(at, expected, desired, HERE);
}
API int __tsan_atomic128_compare_exchange_weak(volatile void *at, void *expected, wide desired,
					       int mo, int fail_mo)
	ALIAS(__tsan_atomic128_compare_exchange_strong);

API bool cas_16(volatile void *at, void *expected, wide desired, int mo, int fail_mo)
{
	return exchanged(at, expected, desired, HERE);
}

#define RMW(name, op)                                                        \
	API wide __tsan_atomic128_##name(volatile void *at, wide v, int mo); \
	API wide __tsan_atomic128_##name(volatile void *at, wide v, int mo)  \
	{                                                                    \
		return rmw(at, op, v, HERE);                                 \
	}                                                                    \
	API wide __atomic_##name##_16(volatile void *at, wide v, int mo)     \
		ALIAS(__tsan_atomic128_##name);

RMW(exchange, XCHG)
RMW(fetch_add, ADD)
RMW(fetch_sub, SUB)
RMW(fetch_and, AND)
RMW(fetch_or, OR)
RMW(fetch_xor, XOR)
RMW(fetch_nand, NAND)

/* ---- with the size as an argument: clang without -mcx16 ---- */

API void any_load(size_t size, const volatile void *at, void *into, int mo) NAMED(__atomic_load);
API void any_store(size_t size, volatile void *at, void *from, int mo) NAMED(__atomic_store);
API void any_exchange(size_t size, volatile void *at, void *from, void *into, int mo)
	NAMED(__atomic_exchange);
API bool any_cas(size_t size, volatile void *at, void *expected, void *desired, int mo, int fail_mo)
	NAMED(__atomic_compare_exchange);

/* The program may have linked without libatomic, because this library defines these names. */
#define LIBATOMIC(type, name, args)                                                \
	({                                                                         \
		type(*real_) args = REAL_OF(type, name, args);                     \
                                                                                   \
		if (!real_) {                                                      \
			dprintf(2, "schedshard: " #name ": link with -latomic\n"); \
			abort();                                                   \
		}                                                                  \
		real_;                                                             \
	})

static bool is_wide(size_t size, const volatile void *at)
{
	return size == sizeof(wide) && !((uintptr_t)at % sizeof(wide));
}

API void any_load(size_t size, const volatile void *at, void *into, int mo)
{
	wide v;

	if (!is_wide(size, at)) {
		LIBATOMIC(void, __atomic_load, (size_t, const volatile void *, void *, int))
		(size, at, into, mo);
		return;
	}
	v = cas((volatile void *)(uintptr_t)at, 0, 0, HERE);
	memcpy(into, &v, sizeof(v));
}

API void any_store(size_t size, volatile void *at, void *from, int mo)
{
	wide v;

	if (!is_wide(size, at)) {
		LIBATOMIC(void, __atomic_store, (size_t, volatile void *, void *, int))
		(size, at, from, mo);
		return;
	}
	memcpy(&v, from, sizeof(v));
	rmw(at, XCHG, v, HERE);
}

API void any_exchange(size_t size, volatile void *at, void *from, void *into, int mo)
{
	wide v;

	if (!is_wide(size, at)) {
		LIBATOMIC(void, __atomic_exchange, (size_t, volatile void *, void *, void *, int))
		(size, at, from, into, mo);
		return;
	}
	memcpy(&v, from, sizeof(v));
	v = rmw(at, XCHG, v, HERE);
	memcpy(into, &v, sizeof(v));
}

API bool any_cas(size_t size, volatile void *at, void *expected, void *desired, int mo, int fail_mo)
{
	wide v;

	if (!is_wide(size, at))
		return LIBATOMIC(bool, __atomic_compare_exchange,
				 (size_t, volatile void *, void *, void *, int, int))(
			size, at, expected, desired, mo, fail_mo);
	memcpy(&v, desired, sizeof(v));
	return exchanged(at, expected, v, HERE);
}
