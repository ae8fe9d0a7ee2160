/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The measured code.
 *
 * A kernel is a function with one loop around one operation. One source text (set_kernels.inc)
 * makes all kernels of an operation, which differ only in the operation's name. So the compiler
 * cannot unroll, hoist or inline for only one variant. No kernel is inlined into its caller. The
 * name of each kernel starts with bench_k_: the instruction counter finds kernels by that prefix.
 */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H

#include "port.h"
#include "shard_topo.h"

#define BENCH_KERNEL_PREFIX "bench_k_"
#define BENCH_KERNEL	    static __attribute__((noinline)) u64

/* Keeps each loop rolled, because unrolling would depend on the operation in the loop. */
#ifdef __clang__
#define BENCH_NOT_UNROLLED _Pragma("clang loop unroll(disable)")
#else
#define BENCH_NOT_UNROLLED _Pragma("GCC unroll 1")
#endif

/**
 * typedef bench_kernel - one operation on each CPU of a list, or one walk
 * @object: from the variant's make()
 * @cpu: CPU numbers, in this order; a walk ignores them
 * @n: how many
 *
 * Return: a value that depends on every result, so the compiler cannot drop any work.
 */
typedef u64 (*bench_kernel)(void *object, const u32 *cpu, u32 n);

/**
 * struct bench_set - one implementation of a set of CPUs
 * @name: as in the output
 * @one_writer: updates are not atomic, so not for several threads
 * @make: an empty set for the CPUs of a plan; NULL: no memory
 * @destroy: free it
 * @set: add each CPU
 * @clear: remove each CPU
 * @set_clear: add, then remove, each CPU
 * @test: returns how many of the CPUs are in the set
 * @walk: visit the set's CPUs; returns the sum of (CPU + 1); NULL: the variant has no such
 *	operation
 * @visit: the same loop, which stores the CPUs while there is room; returns their number; NULL if
 *	@walk is NULL
 */
struct bench_set {
	const char *name;
	bool one_writer;
	void *(*make)(const struct shard_plan *plan);
	void (*destroy)(void *object);
	bench_kernel set;
	bench_kernel clear;
	bench_kernel set_clear;
	bench_kernel test;
	bench_kernel walk;
	u32 (*visit)(void *object, u32 *seen, u32 room);
};

/**
 * struct bench_counter - one implementation of a counter
 * @name: as in the output
 * @make: a count of 0
 * @destroy: free it
 * @inc: add one on behalf of each CPU
 * @sum: returns the count
 */
struct bench_counter {
	const char *name;
	void *(*make)(const struct shard_plan *plan);
	void (*destroy)(void *object);
	bench_kernel inc;
	bench_kernel sum;
};

/* The first entry of each table is the reference, by whose time the others are divided. */
extern const struct bench_set bench_sets[];
extern const u32 bench_nr_sets;
extern const struct bench_counter bench_counters[];
extern const u32 bench_nr_counters;

/* The loop alone: the cost of a kernel over a list of CPUs without its operation. */
extern const bench_kernel bench_empty_loop;

#endif
