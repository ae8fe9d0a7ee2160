/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * tsan_abi.h - the functions that gcc's and clang's -fsanitize=thread instrumentation calls. The
 * compilers' ABI defines their names and signatures; no header declares them.
 *
 * A file that includes this header defines all of these functions. Before the include it defines
 * what they do, as static functions or macros. hook_begin() is called before all others,
 * hook_enter() and hook_leave() around each function. hook_plain(), hook_range(), hook_load(),
 * hook_store(), hook_rmw(), hook_cas() and hook_fence() have the arguments of their namesakes in
 * backend.h. Such a file is itself compiled without instrumentation.
 */
#ifndef SIM_TSAN_ABI_H
#define SIM_TSAN_ABI_H

#include "backend.h"

#define TSAN_PC __builtin_return_address(0)

#ifndef hook_volatile
#define hook_volatile hook_plain /* treat a volatile access as any other */
#endif

void __tsan_init(void);
void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);
void __tsan_init(void)
{
	hook_begin();
}
void __tsan_func_entry(void *pc)
{
	hook_enter(pc);
}
void __tsan_func_exit(void)
{
	hook_leave(TSAN_PC);
}

#define ACCESS(name, n, hook, write)        \
	void __tsan_##name##n(void *a);     \
	void __tsan_##name##n(void *a)      \
	{                                   \
		hook(a, n, write, TSAN_PC); \
	}

#define PLAIN(n)                                       \
	ACCESS(read, n, hook_plain, false)             \
	ACCESS(write, n, hook_plain, true)             \
	ACCESS(unaligned_read, n, hook_plain, false)   \
	ACCESS(unaligned_write, n, hook_plain, true)   \
	ACCESS(volatile_read, n, hook_volatile, false) \
	ACCESS(volatile_write, n, hook_volatile, true)

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *a, unsigned long size);
void __tsan_write_range(void *a, unsigned long size);
void __tsan_vptr_update(void **vptr, void *val);

void __tsan_read_range(void *a, unsigned long size)
{
	hook_range(a, size, false, TSAN_PC);
}

void __tsan_write_range(void *a, unsigned long size)
{
	hook_range(a, size, true, TSAN_PC);
}

void __tsan_vptr_update(void **vptr, void *val)
{
	hook_plain(vptr, sizeof(*vptr), true, TSAN_PC);
}

#define RMW(bits, name, op)                                                                      \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile void *a, uint##bits##_t v, int mo); \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile void *a, uint##bits##_t v, int mo)  \
	{                                                                                        \
		return (uint##bits##_t)hook_rmw(a, bits / 8, op, v, mo, TSAN_PC);                \
	}

#define CAS(bits, name)                                                                         \
	int __tsan_atomic##bits##_compare_exchange_##name(                                      \
		volatile void *a, void *expected, uint##bits##_t desired, int mo, int fail_mo); \
	int __tsan_atomic##bits##_compare_exchange_##name(                                      \
		volatile void *a, void *expected, uint##bits##_t desired, int mo, int fail_mo)  \
	{                                                                                       \
		uint##bits##_t *e = expected;                                                   \
		uint64_t want = *e;                                                             \
		bool ok = hook_cas(a, bits / 8, &want, desired, mo, TSAN_PC);                   \
                                                                                                \
		*e = (uint##bits##_t)want;                                                      \
		return ok;                                                                      \
	}

#define ATOMIC(bits)                                                                       \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile void *a, int mo);         \
	void __tsan_atomic##bits##_store(volatile void *a, uint##bits##_t v, int mo);      \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                         \
		volatile void *a, uint##bits##_t expected, uint##bits##_t desired, int mo, \
		int fail_mo);                                                              \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile void *a, int mo)          \
	{                                                                                  \
		return (uint##bits##_t)hook_load(a, bits / 8, mo, TSAN_PC);                \
	}                                                                                  \
	void __tsan_atomic##bits##_store(volatile void *a, uint##bits##_t v, int mo)       \
	{                                                                                  \
		hook_store(a, bits / 8, v, mo, TSAN_PC);                                   \
	}                                                                                  \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                         \
		volatile void *a, uint##bits##_t expected, uint##bits##_t desired, int mo, \
		int fail_mo)                                                               \
	{                                                                                  \
		uint64_t want = expected;                                                  \
                                                                                           \
		hook_cas(a, bits / 8, &want, desired, mo, TSAN_PC);                        \
		return (uint##bits##_t)want;                                               \
	}                                                                                  \
	RMW(bits, exchange, SIM_RMW_XCHG)                                                  \
	RMW(bits, fetch_add, SIM_RMW_ADD)                                                  \
	RMW(bits, fetch_sub, SIM_RMW_SUB)                                                  \
	RMW(bits, fetch_and, SIM_RMW_AND)                                                  \
	RMW(bits, fetch_or, SIM_RMW_OR)                                                    \
	RMW(bits, fetch_xor, SIM_RMW_XOR)                                                  \
	RMW(bits, fetch_nand, SIM_RMW_NAND)                                                \
	CAS(bits, strong)                                                                  \
	CAS(bits, weak)

ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int mo);
void __tsan_atomic_signal_fence(int mo);

void __tsan_atomic_thread_fence(int mo)
{
	hook_fence(mo, TSAN_PC);
}

void __tsan_atomic_signal_fence(int mo)
{
}

#endif
