/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The part of port.h that user space and the simulated machine share: types, single accesses,
 * atomics, barriers and bit operations on gcc and clang builtins.
 *
 * core/ never includes it directly: core/ includes "port.h", found by include path (port/user
 * or port/sim). port/README.md lists what core/ needs from it.
 *
 * Before it includes this file a port defines
 *
 *   PORT_TSO   1 where a locked operation is a full barrier, loads do not pass
 *              loads, and stores do not pass stores (x86, the simulated
 *              machine); 0 elsewhere.
 *   PORT_ORDER_TOLD  1 where a model of the machine (the explorer) receives each access with
 *              its memory order, and implements that order as the kernel defines it; 0, or
 *              undefined, where instructions must do so.
 *
 * Every access that can race with another thread is an __atomic builtin. So ThreadSanitizer, and
 * the simulated machine, which implements its interface, see an atomic access and its value.
 */
#ifndef PORT_GCC_ATOMICS_H
#define PORT_GCC_ATOMICS_H

#ifndef PORT_ORDER_TOLD
#define PORT_ORDER_TOLD 0
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#if !defined(__cplusplus) && !defined(static_assert)
#define static_assert _Static_assert
#endif

#define PORT_CACHELINE	       64
#define port_cacheline_aligned __attribute__((aligned(PORT_CACHELINE)))
/* For members of public structures: the only spelling that kernel-doc understands. */
#ifndef __aligned
#define __aligned(bytes) __attribute__((aligned(bytes)))
#endif
#define port_always_inline inline __attribute__((always_inline))
#define port_noinline	   __attribute__((noinline))

#ifndef likely
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

/* One access, neither torn nor merged nor repeated. Ordering: none. */
#define READ_ONCE(x)	 __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)

/* One access of all 64 bits, also on 32-bit machines. */
#define port_read64(p)	   READ_ONCE(*(p))
#define port_write64(p, v) WRITE_ONCE(*(p), v)

#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define port_release64(p, v)	smp_store_release(p, v)

#define port_compiler_barrier() __asm__ __volatile__("" ::: "memory")

/*
 * gcc warns that thread sanitizer does not model fences. That affects only fences that order plain
 * accesses, and core/ has none. The simulated machine does model fences.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif

/* Full barrier: every access before it is performed before any access after it. */
static port_always_inline void smp_mb(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static port_always_inline void smp_rmb(void)
{
	if (PORT_TSO)
		port_compiler_barrier();
	else
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

static port_always_inline void smp_wmb(void)
{
	if (PORT_TSO)
		port_compiler_barrier();
	else
		__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Full barrier beside an atomic operation that is not a full barrier itself. */
static port_always_inline void smp_mb__before_atomic(void)
{
	if (PORT_TSO)
		port_compiler_barrier();
	else if (PORT_ORDER_TOLD) /* must differ from smp_mb(): no instruction on x86 */
		__atomic_thread_fence(__ATOMIC_ACQ_REL);
	else
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static port_always_inline void smp_mb__after_atomic(void)
{
	smp_mb__before_atomic();
}

/* The barrier before and after an atomic operation with a result. */
static port_always_inline void port_full_order(void)
{
	if (!PORT_TSO && !PORT_ORDER_TOLD)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/* Without a return value: atomic; ordering: none (use smp_mb__*_atomic() where needed). */
static port_always_inline void port_or64(u64 *p, u64 v)
{
	__atomic_fetch_or(p, v, __ATOMIC_RELAXED);
}

/* port_or64() with release: all earlier accesses come before it. */
static port_always_inline void port_or64_release(u64 *p, u64 v)
{
	__atomic_fetch_or(p, v, __ATOMIC_RELEASE);
}

static port_always_inline void port_and64(u64 *p, u64 v)
{
	__atomic_fetch_and(p, v, __ATOMIC_RELAXED);
}

static port_always_inline void port_and64_release(u64 *p, u64 v)
{
	__atomic_fetch_and(p, v, __ATOMIC_RELEASE);
}

static port_always_inline void port_add64(u64 *p, u64 v)
{
	__atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

/* Return: the old value, with acquire: later accesses come after it. */
static port_always_inline u64 port_fetch_add64_acquire(u64 *p, u64 v)
{
	return __atomic_fetch_add(p, v, __ATOMIC_ACQUIRE);
}

static port_always_inline void port_add64_release(u64 *p, u64 v)
{
	__atomic_fetch_add(p, v, __ATOMIC_RELEASE);
}

/*
 * With a return value: full barrier on both sides, as in the kernel. C11's seq_cst alone does not
 * order earlier relaxed accesses against later ones on arm64, so fences are needed there.
 */
#define PORT_FULL_ORDER(type, expr)       \
	__extension__({                   \
		port_full_order();        \
		type port_ret__ = (expr); \
		port_full_order();        \
		port_ret__;               \
	})

static port_always_inline u64 port_fetch_or64(u64 *p, u64 v)
{
	return PORT_FULL_ORDER(u64, __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST));
}

static port_always_inline u64 port_fetch_and64(u64 *p, u64 v)
{
	return PORT_FULL_ORDER(u64, __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST));
}

/*
 * clang 14 compiles a builtin that changes and tests one bit to a compare-and-swap loop: twelve
 * instructions instead of one locked instruction. Builds with sanitizers, and for the simulated
 * machine, use the builtin.
 */
#if defined(__clang__) && defined(__x86_64__)
#if !__has_feature(thread_sanitizer) && !__has_feature(memory_sanitizer)
#define PORT_LOCKED_BIT(op, p, pos)                                    \
	__extension__({                                                \
		bool port_was__;                                       \
		__asm__ __volatile__("lock " op " %2, %0"              \
				     : "+m"(*(p)), "=@ccc"(port_was__) \
				     : "r"((u64)(pos))                 \
				     : "memory");                      \
		port_was__;                                            \
	})
#endif
#endif

/*
 * Clear bit @pos, 0..63. Return: whether it was set. On x86 this is one lock btr. gcc compiles
 * port_fetch_and64() to a compare-and-swap loop, because no instruction returns the old word.
 */
static port_always_inline bool port_test_and_clear64(u64 *p, u32 pos)
{
#ifdef PORT_LOCKED_BIT
	return PORT_LOCKED_BIT("btrq", p, pos);
#else
	u64 bit = 1ull << pos;

	return PORT_FULL_ORDER(u64, __atomic_fetch_and(p, ~bit, __ATOMIC_SEQ_CST) & bit);
#endif
}

/* Set bit @pos, 0..63. Return: whether it was set. On x86 this is one lock bts. */
static port_always_inline bool port_test_and_set64(u64 *p, u32 pos)
{
#ifdef PORT_LOCKED_BIT
	return PORT_LOCKED_BIT("btsq", p, pos);
#else
	u64 bit = 1ull << pos;

	return PORT_FULL_ORDER(u64, __atomic_fetch_or(p, bit, __ATOMIC_SEQ_CST) & bit);
#endif
}

static port_always_inline u64 port_fetch_add64(u64 *p, u64 v)
{
	return PORT_FULL_ORDER(u64, __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST));
}

static port_always_inline u64 port_xchg64(u64 *p, u64 v)
{
	return PORT_FULL_ORDER(u64, __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST));
}

/*
 * Return: the old value. If it is @old, the exchange took place, with a full barrier; otherwise no
 * ordering.
 */
static port_always_inline u64 port_cmpxchg64(u64 *p, u64 old, u64 val)
{
	port_full_order();
	__atomic_compare_exchange_n(p, &old, val, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	port_full_order();
	return old;
}

/* @x must not be 0. */
static port_always_inline unsigned int port_ctz64(u64 x)
{
	return (unsigned int)__builtin_ctzll(x);
}

static port_always_inline unsigned int port_popcount64(u64 x)
{
	return (unsigned int)__builtin_popcountll(x);
}

/* @by must not be 0. */
static port_always_inline u64 port_div64(u64 x, u64 by)
{
	return x / by;
}

/* Converts eight bytes loaded as one word: byte i of memory becomes bits 8i..8i+7. */
static port_always_inline u64 port_le64(u64 x)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(x);
#else
	return x;
#endif
}

#endif /* PORT_GCC_ATOMICS_H */
