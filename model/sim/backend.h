/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * backend.h - the functions that each memory access of the instrumented code calls.
 *
 * Code under simulation is compiled with -fsanitize=thread. The compiler then calls a __tsan_*
 * function for every access. tsan_hooks.c replaces the sanitizer's runtime and turns these calls
 * into the few functions below. Two backends implement them, and the linker chooses one:
 *
 *  engine_access.c   the timing simulator: the coherence model gives the cost of every access.
 *                    Other CPUs see an atomic store when it leaves the store buffer
 *  check/explore/    the explorer: no time, but every interleaving, with x86-TSO
 *                    store buffers
 *
 * Context: a backend function may switch to another fiber before it returns. For every other CPU
 * the access happens when the function returns, or later for a store. Outside a run (set-up and
 * final checks on the main stack) a backend performs the access at once, in no simulated time.
 *
 * sim_plain() is called only for memory of the arena (arena.h), the other functions for any memory.
 *
 * @pc is an address inside the instrumented function, used only for reports. @mo is the C11 memory
 * order as the compiler passes it (0 relaxed to 5 seq_cst).
 */
#ifndef SIM_BACKEND_H
#define SIM_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

enum sim_rmw_op {
	SIM_RMW_XCHG,
	SIM_RMW_ADD,
	SIM_RMW_SUB,
	SIM_RMW_AND,
	SIM_RMW_OR,
	SIM_RMW_XOR,
	SIM_RMW_NAND,
};

/** sim_load - atomic load of @size (1, 2, 4, 8) bytes; returns the value, zero extended. */
uint64_t sim_load(const volatile void *addr, unsigned int size, int mo, const void *pc);

/** sim_store - atomic store of the low @size bytes of @val. */
void sim_store(volatile void *addr, unsigned int size, uint64_t val, int mo, const void *pc);

/** sim_rmw - atomic read-modify-write; returns the old value. A locked instruction on x86. */
uint64_t sim_rmw(volatile void *addr, unsigned int size, enum sim_rmw_op op, uint64_t operand,
		 int mo, const void *pc);

/**
 * sim_cas - atomic compare-and-exchange.
 *
 * Return: true if @addr contained *@expected, and now contains @desired. Else false; then
 * *@expected receives the value found.
 */
bool sim_cas(volatile void *addr, unsigned int size, uint64_t *expected, uint64_t desired, int mo,
	     const void *pc);

/** sim_fence - a full fence if @mo is seq_cst; weaker fences have no effect on x86. */
void sim_fence(int mo, const void *pc);

/**
 * sim_relax - cpu_relax() of port/sim: this CPU waits for another one.
 */
void sim_relax(void);

/**
 * sim_plain - a non-atomic access is about to happen.
 *
 * The instrumented code performs the access right after the call. So the backend sees neither the
 * value read nor the value written.
 */
void sim_plain(const volatile void *addr, unsigned int size, bool write, const void *pc);

/* The operations on values, for backends: plain C, no simulation. */
static inline uint64_t sim_raw_read(const volatile void *addr, unsigned int size)
{
	switch (size) {
	case 1:
		return *(const volatile uint8_t *)addr;
	case 2:
		return *(const volatile uint16_t *)addr;
	case 4:
		return *(const volatile uint32_t *)addr;
	default:
		return *(const volatile uint64_t *)addr;
	}
}

static inline void sim_raw_write(volatile void *addr, unsigned int size, uint64_t val)
{
	switch (size) {
	case 1:
		*(volatile uint8_t *)addr = (uint8_t)val;
		break;
	case 2:
		*(volatile uint16_t *)addr = (uint16_t)val;
		break;
	case 4:
		*(volatile uint32_t *)addr = (uint32_t)val;
		break;
	default:
		*(volatile uint64_t *)addr = val;
		break;
	}
}

/*
 * Write @val if the word still contains *@old; set *@old to what the word contained. This is
 * atomic, because in an exact run another process may use the word at the same time.
 */
static inline bool sim_raw_cas(volatile void *addr, unsigned int size, uint64_t *old, uint64_t val)
{
#define SIM_RAW_CAS(type)                                                                       \
	({                                                                                      \
		type before = (type)*old;                                                       \
		bool done =                                                                     \
			__atomic_compare_exchange_n((volatile type *)addr, &before, (type)val,  \
						    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
		*old = before;                                                                  \
		done;                                                                           \
	})
	switch (size) {
	case 1:
		return SIM_RAW_CAS(uint8_t);
	case 2:
		return SIM_RAW_CAS(uint16_t);
	case 4:
		return SIM_RAW_CAS(uint32_t);
	default:
		return SIM_RAW_CAS(uint64_t);
	}
#undef SIM_RAW_CAS
}

static inline uint64_t sim_rmw_result(enum sim_rmw_op op, uint64_t old, uint64_t operand)
{
	switch (op) {
	case SIM_RMW_XCHG:
		return operand;
	case SIM_RMW_ADD:
		return old + operand;
	case SIM_RMW_SUB:
		return old - operand;
	case SIM_RMW_AND:
		return old & operand;
	case SIM_RMW_OR:
		return old | operand;
	case SIM_RMW_XOR:
		return old ^ operand;
	default:
		return ~(old & operand);
	}
}

/* Replace the word's value by that of sim_rmw_result(), atomically. Return: the old value. */
static inline uint64_t sim_raw_rmw(volatile void *addr, unsigned int size, enum sim_rmw_op op,
				   uint64_t operand)
{
	uint64_t old = sim_raw_read(addr, size);

	while (!sim_raw_cas(addr, size, &old, sim_rmw_result(op, old, operand)))
		;
	return old;
}

#endif
