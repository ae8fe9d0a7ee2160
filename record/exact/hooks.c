// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The functions that an instrumented program calls for its accesses (tsan_abi.h).
 *
 * Without a recording, or in a thread that is not recorded, a function only performs the operation.
 */
#include <string.h>

#include "lines.h"
#include "start.h"
#include "modules.h"
#include "ways.h"

static inline void hook_plain(void *addr, unsigned int size, bool write, const void *pc)
{
	lines_plain(addr, size, write, pc);
}

static inline void hook_volatile(void *addr, unsigned int size, bool write, const void *pc)
{
	lines_access(addr, size, LINES_VOLATILE | (write ? LINES_WRITE : 0), pc);
}

static inline void hook_range(void *addr, unsigned long size, bool write, const void *pc)
{
	if (lines_mine && size)
		lines_range(addr, size, write, pc);
}

static uint64_t native_load(const volatile void *a, unsigned int size)
{
	switch (size) {
	case 1:
		return __atomic_load_n((const volatile uint8_t *)a, __ATOMIC_SEQ_CST);
	case 2:
		return __atomic_load_n((const volatile uint16_t *)a, __ATOMIC_SEQ_CST);
	case 4:
		return __atomic_load_n((const volatile uint32_t *)a, __ATOMIC_SEQ_CST);
	default:
		return __atomic_load_n((const volatile uint64_t *)a, __ATOMIC_SEQ_CST);
	}
}

static bool native_cas(volatile void *a, unsigned int size, uint64_t *expected, uint64_t desired)
{
	uint8_t e8 = (uint8_t)*expected;
	uint16_t e16 = (uint16_t)*expected;
	uint32_t e32 = (uint32_t)*expected;
	bool done;

#define SWAP(type, e)                                                                      \
	done = __atomic_compare_exchange_n((volatile type *)a, &(e), (type)desired, false, \
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);            \
	*expected = (e);                                                                   \
	return done
	switch (size) {
	case 1:
		SWAP(uint8_t, e8);
	case 2:
		SWAP(uint16_t, e16);
	case 4:
		SWAP(uint32_t, e32);
	default:
		SWAP(uint64_t, *expected);
	}
#undef SWAP
}

static uint64_t native_rmw(volatile void *a, unsigned int size, enum sim_rmw_op op,
			   uint64_t operand)
{
	uint64_t old = native_load(a, size);

	while (!native_cas(a, size, &old, sim_rmw_result(op, old, operand))) {
	}
	return old;
}

static inline uint64_t hook_load(const volatile void *a, unsigned int size, int mo, const void *pc)
{
	return lines_mine ? lines_load(a, size, mo, pc) : native_load(a, size);
}

static inline void hook_store(volatile void *a, unsigned int size, uint64_t v, int mo,
			      const void *pc)
{
	if (lines_mine)
		lines_store(a, size, v, mo, pc);
	else
		native_rmw(a, size, SIM_RMW_XCHG, v);
}

static inline uint64_t hook_rmw(volatile void *a, unsigned int size, enum sim_rmw_op op, uint64_t v,
				int mo, const void *pc)
{
	return lines_mine ? lines_rmw(a, size, op, v, mo, pc) : native_rmw(a, size, op, v);
}

static inline bool hook_cas(volatile void *a, unsigned int size, uint64_t *e, uint64_t v, int mo,
			    const void *pc)
{
	return lines_mine ? lines_cas(a, size, e, v, mo, pc) : native_cas(a, size, e, v);
}

static inline void hook_fence(int mo, const void *pc)
{
	if (lines_mine)
		lines_fence(mo, pc);
	else
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* @pc: an address in the caller */
static inline void hook_enter(const void *pc)
{
	if (lines_mine && ways_own(__builtin_return_address(0)) && !ways_own(pc))
		exact_self->from = modules_hooked(pc) ? pc : exact_self->block;
	if (__builtin_expect(ways_mine != NULL, false))
		ways_entered(pc, __builtin_frame_address(0));
}

static inline void hook_leave(const void *to)
{
	if (__builtin_expect(ways_mine != NULL, false))
		ways_left(to, __builtin_frame_address(0));
}

#define hook_begin    start_once
#define hook_volatile hook_volatile
#pragma GCC visibility push(default)
#include "tsan_abi.h"
#pragma GCC visibility pop

/* ---- what clang calls besides ---- */

API void __tsan_vptr_read(void **vptr);
API void *__tsan_memcpy(void *to, const void *from, unsigned long n);
API void *__tsan_memset(void *to, int byte, unsigned long n);

API void __tsan_vptr_read(void **vptr)
{
	hook_plain(vptr, sizeof(*vptr), false, TSAN_PC);
}

/* ---- what a program says about its own synchronisation, as the library's headers do ---- */

API void __tsan_acquire(void *addr);
API void __tsan_release(void *addr);

API void __tsan_acquire(void *addr)
{
	(void)addr;
}

API void __tsan_release(void *addr)
{
	(void)addr;
}

/* ---- copies: schedshard cc links these instead of the C library's functions ---- */

#define MEMCPY __attribute__((alias("__tsan_memcpy"))) /* each copies as memmove() does */
API void *__tsan_memmove(void *to, const void *from, unsigned long n) MEMCPY;
API void *__wrap_memcpy(void *to, const void *from, unsigned long n) MEMCPY;
API void *__wrap_memmove(void *to, const void *from, unsigned long n) MEMCPY;
API void *__wrap_memset(void *to, int byte, unsigned long n)
	__attribute__((alias("__tsan_memset")));
API int __wrap_memcmp(const void *a, const void *b, unsigned long n);

API void *__tsan_memcpy(void *to, const void *from, unsigned long n)
{
	hook_range((void *)(uintptr_t)from, n, false, TSAN_PC);
	hook_range(to, n, true, TSAN_PC);
	return memmove(to, from, n);
}

API void *__tsan_memset(void *to, int byte, unsigned long n)
{
	hook_range(to, n, true, TSAN_PC);
	return memset(to, byte, n);
}

API int __wrap_memcmp(const void *a, const void *b, unsigned long n)
{
	hook_range((void *)(uintptr_t)a, n, false, TSAN_PC);
	hook_range((void *)(uintptr_t)b, n, false, TSAN_PC);
	return memcmp(a, b, n);
}
