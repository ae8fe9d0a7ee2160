// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The functions that gcc's and clang's -fsanitize=thread instrumentation calls, each a few lines
 * over backend.h. The compilers' ABI sets the list, the names and the signatures; no header
 * declares them.
 *
 * This file itself is compiled without instrumentation.
 */
#include "arena.h"
#include "backend.h"

#define PC __builtin_return_address(0)

/*
 * Nine of ten accesses go to the body's own stack and heap. They end here, in a few instructions
 * without a stack frame: no backend simulates them.
 */
static inline void plain(void *addr, unsigned int size, bool write, const void *pc)
{
	if (arena_contains(addr))
		sim_plain(addr, size, write, pc);
}

/* Life cycle and call stack: nothing to do, the program counter is enough. */
void __tsan_init(void);
void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);
void __tsan_init(void)
{
}
void __tsan_func_entry(void *pc)
{
}
void __tsan_func_exit(void)
{
}

#define PLAIN(n)                                 \
	void __tsan_read##n(void *a);            \
	void __tsan_write##n(void *a);           \
	void __tsan_unaligned_read##n(void *a);  \
	void __tsan_unaligned_write##n(void *a); \
	void __tsan_volatile_read##n(void *a);   \
	void __tsan_volatile_write##n(void *a);  \
	void __tsan_read##n(void *a)             \
	{                                        \
		plain(a, n, false, PC);          \
	}                                        \
	void __tsan_write##n(void *a)            \
	{                                        \
		plain(a, n, true, PC);           \
	}                                        \
	void __tsan_unaligned_read##n(void *a)   \
	{                                        \
		plain(a, n, false, PC);          \
	}                                        \
	void __tsan_unaligned_write##n(void *a)  \
	{                                        \
		plain(a, n, true, PC);           \
	}                                        \
	void __tsan_volatile_read##n(void *a)    \
	{                                        \
		plain(a, n, false, PC);          \
	}                                        \
	void __tsan_volatile_write##n(void *a)   \
	{                                        \
		plain(a, n, true, PC);           \
	}

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *a, unsigned long size);
void __tsan_write_range(void *a, unsigned long size);
void __tsan_vptr_update(void **vptr, void *val);

/* An access to a range touches its lines one by one, like the copy loop that it stands for. */
static void range(char *a, unsigned long size, bool write, const void *pc)
{
	if (!arena_contains(a))
		return;
	while (size) {
		unsigned long chunk = 8 - ((uintptr_t)a & 7);

		if (chunk > size)
			chunk = size;
		sim_plain(a, (unsigned int)chunk, write, pc);
		a += chunk;
		size -= chunk;
	}
}

void __tsan_read_range(void *a, unsigned long size)
{
	range(a, size, false, PC);
}

void __tsan_write_range(void *a, unsigned long size)
{
	range(a, size, true, PC);
}

void __tsan_vptr_update(void **vptr, void *val)
{
	plain(vptr, sizeof(*vptr), true, PC);
}

#define RMW(bits, name, op)                                                                      \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile void *a, uint##bits##_t v, int mo); \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile void *a, uint##bits##_t v, int mo)  \
	{                                                                                        \
		return (uint##bits##_t)sim_rmw(a, bits / 8, op, v, mo, PC);                      \
	}

#define CAS(bits, name)                                                                         \
	int __tsan_atomic##bits##_compare_exchange_##name(                                      \
		volatile void *a, void *expected, uint##bits##_t desired, int mo, int fail_mo); \
	int __tsan_atomic##bits##_compare_exchange_##name(                                      \
		volatile void *a, void *expected, uint##bits##_t desired, int mo, int fail_mo)  \
	{                                                                                       \
		uint##bits##_t *e = expected;                                                   \
		uint64_t want = *e;                                                             \
		bool ok = sim_cas(a, bits / 8, &want, desired, mo, PC);                         \
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
		return (uint##bits##_t)sim_load(a, bits / 8, mo, PC);                      \
	}                                                                                  \
	void __tsan_atomic##bits##_store(volatile void *a, uint##bits##_t v, int mo)       \
	{                                                                                  \
		sim_store(a, bits / 8, v, mo, PC);                                         \
	}                                                                                  \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                         \
		volatile void *a, uint##bits##_t expected, uint##bits##_t desired, int mo, \
		int fail_mo)                                                               \
	{                                                                                  \
		uint64_t want = expected;                                                  \
                                                                                           \
		sim_cas(a, bits / 8, &want, desired, mo, PC);                              \
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
	sim_fence(mo, PC);
}

void __tsan_atomic_signal_fence(int mo)
{
}
