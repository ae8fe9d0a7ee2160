/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The measured code.
 *
 * A kernel is one function with one loop around one operation. One text (set_kernels.inc) makes all
 * kernels of an operation, which differ only in the operation's name. So the compiler cannot
 * unroll, hoist or inline for one variant alone. None is inlined into its caller. The name of each
 * starts with bench_k_: by that prefix the instruction counter finds them.
 */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H

#include "port.h"
#include "shard_topo.h"

#define BENCH_KERNEL_PREFIX "bench_k_"
#define BENCH_KERNEL	    static __attribute__((noinline)) u64

/* Before each loop: the decision to unroll must not depend on the operation in the loop. */
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
 * Return: a value that depends on every result, so that the compiler can drop no work.
 */
typedef u64 (*bench_kernel)(void *object, const u32 *cpu, u32 n);

/**
 * struct bench_set - one way to keep a set of CPUs
 * @name: as in the output
 * @one_writer: updates are not atomic: not for threads
 * @make: an empty set for the CPUs of a plan; NULL: no memory
 * @destroy: free it
 * @set: add each CPU
 * @clear: remove each CPU
 * @set_clear: add, then remove, each CPU
 * @test: how many of the CPUs are in the set
 * @walk: visit the set's CPUs; sum of (CPU + 1); NULL when the variant has no such operation
 * @visit: the same loop, which stores the CPUs while there is room; returns how many; NULL with
 *	@walk
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
 * struct bench_find - one way to find the CPUs of a value among one byte per CPU
 * @name: as in the output
 * @make: all bytes 0
 * @destroy: free it
 * @put: store BENCH_WANTED for each CPU
 * @find: find the CPUs that have it; returns their number
 * @found: ordinary mask that the last @find wrote
 */
struct bench_find {
	const char *name;
	void *(*make)(const struct shard_plan *plan);
	void (*destroy)(void *object);
	bench_kernel put;
	bench_kernel find;
	const unsigned long *(*found)(const void *object);
};

#define BENCH_WANTED 7u

/**
 * struct bench_counter - one way to count
 * @name: as in the output
 * @make: a count of 0
 * @destroy: free it
 * @inc: add one on behalf of each CPU
 * @sum: the count
 */
struct bench_counter {
	const char *name;
	void *(*make)(const struct shard_plan *plan);
	void (*destroy)(void *object);
	bench_kernel inc;
	bench_kernel sum;
};

/* The first of each table is the reference, by which the others are divided. */
extern const struct bench_set bench_sets[];
extern const u32 bench_nr_sets;
extern const struct bench_find bench_finds[];
extern const u32 bench_nr_finds;
extern const struct bench_counter bench_counters[];
extern const u32 bench_nr_counters;

/* The loop alone: the cost of every kernel over a list of CPUs without its operation. */
extern const bench_kernel bench_empty_loop;

#endif
