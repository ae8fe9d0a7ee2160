// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * All measured loops. The comparison is fair for three reasons. All loops of an operation come from
 * one source text. The operations are the public ones, inlined if the header inlines them and
 * called otherwise. Objects come from port_alloc(), on their own cache lines. So the time is what a
 * caller pays, plus the loop, whose cost is a separate row of the output (bench_empty_loop).
 */
#include "kernels.h"

#include "baselines.h"
#include "cpu_counter.h"
#include "sbm_more.h"
#include "shard_counter.h"

#include <ck_bitmap.h>
#include <hwloc/bitmap.h>

/* The plain bitmap: the reference. */

#define SET_VARIANT	   plain
#define SET_TYPE	   struct plain_bitmap
#define SET_ADD(b, cpu)	   plain_bitmap_set(b, cpu)
#define SET_REMOVE(b, cpu) plain_bitmap_clear(b, cpu)
#define SET_HAS(b, cpu)	   plain_bitmap_test(b, cpu)
#define SET_WALK(cpu, b)   plain_bitmap_for_each(cpu, b)
#include "set_kernels.inc"

static size_t plain_bitmap_size(u32 nr_words)
{
	return sizeof(struct plain_bitmap) + nr_words * sizeof(u64);
}

static void *plain_make(const struct shard_plan *plan)
{
	u32 nr_words = (plan->nr_cpus + 63) / 64;
	struct plain_bitmap *b = port_alloc(plain_bitmap_size(nr_words), -1);

	if (b) {
		b->nr = plan->nr_cpus;
		b->nr_words = nr_words;
	}
	return b;
}

static void plain_destroy(void *object)
{
	struct plain_bitmap *b = object;

	port_free(b, plain_bitmap_size(b->nr_words));
}

/*
 * Concurrency Kit's bitmap: 32 CPUs per word, with an iterator that keeps the rest of the current
 * word.
 */

static inline struct ck_bitmap_iterator ck_walk_begin(const struct ck_bitmap *b)
{
	struct ck_bitmap_iterator it;

	ck_bitmap_iterator_init(&it, b);
	return it;
}

#define SET_VARIANT	   ck
#define SET_TYPE	   struct ck_bitmap
#define SET_ADD(b, cpu)	   ck_bitmap_set(b, cpu)
#define SET_REMOVE(b, cpu) ck_bitmap_reset(b, cpu)
#define SET_HAS(b, cpu)	   ck_bitmap_test(b, cpu)
#define SET_WALK(cpu, b) \
	for (struct ck_bitmap_iterator it = ck_walk_begin(b); ck_bitmap_next(b, &it, &cpu);)
#include "set_kernels.inc"

static void *ck_make(const struct shard_plan *plan)
{
	struct ck_bitmap *b = port_alloc(ck_bitmap_size(plan->nr_cpus), -1);

	if (b)
		ck_bitmap_init(b, plan->nr_cpus, false);
	return b;
}

static void ck_destroy(void *object)
{
	struct ck_bitmap *b = object;

	port_free(b, ck_bitmap_size(ck_bitmap_bits(b)));
}

/* hwloc's bitmap, which is for one writer: it has no atomic operations. */

#define SET_VARIANT	   hwloc
#define SET_TYPE	   struct hwloc_bitmap_s
#define SET_ADD(b, cpu)	   hwloc_bitmap_set(b, cpu)
#define SET_REMOVE(b, cpu) hwloc_bitmap_clr(b, cpu)
#define SET_HAS(b, cpu)	   hwloc_bitmap_isset(b, cpu)
#define SET_WALK(cpu, b)                                                               \
	for (int next = hwloc_bitmap_first(b); next >= 0 && ((cpu) = (u32)next, true); \
	     next = hwloc_bitmap_next(b, next))
#include "set_kernels.inc"

static void *hwloc_make(const struct shard_plan *plan)
{
	return hwloc_bitmap_alloc();
}

static void hwloc_destroy(void *object)
{
	hwloc_bitmap_free(object);
}

/* The sharded bitmap with and without a summary, which have the same functions. */

#define SET_VARIANT	   sbm
#define SET_TYPE	   struct sbm
#define SET_ADD(b, cpu)	   sbm_set(b, cpu)
#define SET_REMOVE(b, cpu) sbm_clear(b, cpu)
#define SET_HAS(b, cpu)	   sbm_test(b, cpu)
#define SET_WALK(cpu, b)   sbm_for_each_cpu(cpu, it, b)
#include "set_kernels.inc"

static void *sbm_make(const struct shard_plan *plan)
{
	return sbm_alloc(plan, 0);
}

static void *sbm_make_summary(const struct shard_plan *plan)
{
	return sbm_alloc(plan, SBM_SUMMARY);
}

static void sbm_destroy(void *object)
{
	sbm_free(object);
}

/* The counters. */

static void *plain_counter_make(const struct shard_plan *plan)
{
	return port_alloc(sizeof(struct plain_counter), -1);
}

static void plain_counter_destroy(void *object)
{
	port_free(object, sizeof(struct plain_counter));
}

static void *counter_make(const struct shard_plan *plan)
{
	struct shard_counter *c = port_alloc(sizeof(*c), -1);

	if (c && !shard_counter_attach(c, plan)) {
		port_free(c, sizeof(*c));
		return NULL;
	}
	return c;
}

static void counter_destroy(void *object)
{
	shard_counter_detach(object);
	port_free(object, sizeof(struct shard_counter));
}

BENCH_KERNEL bench_k_atomic_inc(void *object, const u32 *cpu, u32 n)
{
	struct plain_counter *c = object;

	/* The counter does not need the CPU number, but loads it, so that the loop is the same. */
	BENCH_NOT_UNROLLED
	for (u32 i = 0; i < n; i++) {
		READ_ONCE(cpu[i]);
		plain_counter_inc(c);
	}
	return 0;
}

BENCH_KERNEL bench_k_sharded_inc(void *object, const u32 *cpu, u32 n)
{
	struct shard_counter *c = object;

	BENCH_NOT_UNROLLED
	for (u32 i = 0; i < n; i++)
		shard_counter_inc(c, cpu[i]);
	return 0;
}

static void *cpu_counter_make(const struct shard_plan *plan)
{
	return cpu_counter_alloc(plan, 0);
}

static void cpu_counter_destroy(void *object)
{
	cpu_counter_free(object);
}

BENCH_KERNEL bench_k_cpu_inc(void *object, const u32 *cpu, u32 n)
{
	struct cpu_counter *c = object;

	BENCH_NOT_UNROLLED
	for (u32 i = 0; i < n; i++)
		cpu_counter_add(c, cpu[i], 1);
	return 0;
}

BENCH_KERNEL bench_k_cpu_sum(void *object, const u32 *unused, u32 n)
{
	return (u64)cpu_counter_sum(object);
}

BENCH_KERNEL bench_k_atomic_sum(void *object, const u32 *unused, u32 n)
{
	return plain_counter_sum(object);
}

BENCH_KERNEL bench_k_sharded_sum(void *object, const u32 *unused, u32 n)
{
	return shard_counter_sum(object);
}

BENCH_KERNEL bench_k_empty_loop(void *object, const u32 *cpu, u32 n)
{
	BENCH_NOT_UNROLLED
	for (u32 i = 0; i < n; i++)
		READ_ONCE(cpu[i]);
	return 0;
}

const bench_kernel bench_empty_loop = bench_k_empty_loop;

#define SET_KERNELS(variant)                                                \
	.set = bench_k_##variant##_set, .clear = bench_k_##variant##_clear, \
	.set_clear = bench_k_##variant##_set_clear, .test = bench_k_##variant##_test

#define WALK_KERNELS(variant) .walk = bench_k_##variant##_walk, .visit = bench_k_##variant##_visit

const struct bench_set bench_sets[] = {
	{ .name = "plain",
	  .make = plain_make,
	  .destroy = plain_destroy,
	  SET_KERNELS(plain),
	  WALK_KERNELS(plain) },
	{ .name = "ck", .make = ck_make, .destroy = ck_destroy, SET_KERNELS(ck), WALK_KERNELS(ck) },
	{ .name = "hwloc",
	  .one_writer = true,
	  .make = hwloc_make,
	  .destroy = hwloc_destroy,
	  SET_KERNELS(hwloc),
	  WALK_KERNELS(hwloc) },
	{ .name = "sbm",
	  .make = sbm_make,
	  .destroy = sbm_destroy,
	  SET_KERNELS(sbm),
	  WALK_KERNELS(sbm) },
	{ .name = "sbm-summary",
	  .make = sbm_make_summary,
	  .destroy = sbm_destroy,
	  SET_KERNELS(sbm),
	  WALK_KERNELS(sbm) },
};
const u32 bench_nr_sets = sizeof(bench_sets) / sizeof(bench_sets[0]);

const struct bench_counter bench_counters[] = {
	{ "atomic", plain_counter_make, plain_counter_destroy, bench_k_atomic_inc,
	  bench_k_atomic_sum },
	{ "sharded", counter_make, counter_destroy, bench_k_sharded_inc, bench_k_sharded_sum },
	{ "cpu", cpu_counter_make, cpu_counter_destroy, bench_k_cpu_inc, bench_k_cpu_sum },
};
const u32 bench_nr_counters = sizeof(bench_counters) / sizeof(bench_counters[0]);
