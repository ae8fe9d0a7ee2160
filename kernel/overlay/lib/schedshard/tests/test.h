/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Turns the unchanged tests of the user-space library into KUnit tests: the kernel's version of
 * their header. A file with TEST_MAIN() is a suite, each of its functions a test. A failed check
 * ends the test; test_end() then frees its memory, so that the next one starts clean.
 *
 * One test runs at a time (test_lock in test.c). The files keep state in static objects, as their
 * masks are too large for a kernel stack.
 */
#ifndef _SCHEDSHARD_TEST_H
#define _SCHEDSHARD_TEST_H

#include <kunit/test.h>
#include <kunit/test-bug.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

#include "port.h"

/**
 * struct test_state - the test that runs
 * @name: its name
 * @shape: its current machine; failures print it when set
 * @start: the seed of randomised tests
 * @seed: this test's seed; failures print it when not 0
 * @step: of a randomised test
 * @checks: the number of passed checks
 */
struct test_state {
	const char *name;
	const char *shape;
	u64 start;
	u64 seed;
	u64 step;
	u64 checks;
};

extern struct test_state test_state;

int test_begin(struct kunit *test);
void test_end(struct kunit *test);

#define TEST_FUNCTION(fn)                       \
	static void fn##_kunit(struct kunit *t) \
	{                                       \
		test_state.name = #fn;          \
		fn();                           \
	}
#define TEST_CASE(fn) { .run_case = fn##_kunit, .name = #fn, .module_name = KBUILD_MODNAME },

#define TEST_MAIN(suite, tests)                                                                 \
	tests(TEST_FUNCTION) static struct kunit_case suite##_cases[] = { tests(TEST_CASE){} }; \
	static struct kunit_suite suite##_suite = {                                             \
		.name = "schedshard_" #suite,                                                   \
		.attr = { .speed = KUNIT_SPEED_SLOW },                                          \
		.init = test_begin,                                                             \
		.exit = test_end,                                                               \
		.test_cases = suite##_cases,                                                    \
	};                                                                                      \
	kunit_test_suite(suite##_suite);

/* An emulated CPU is about 30 times slower than the one under a user-space test. */
#define TEST_STEPS(n) ((n) / 20)

__printf(3, 4) void test_say_failed(const char *file, int line, const char *fmt, ...);

/* Ends the test. Not a function: objtool knows by name the few that do not return. */
#define test_fail(file, line, ...)                        \
	do {                                              \
		test_say_failed(file, line, __VA_ARGS__); \
		__kunit_abort(kunit_get_current_test());  \
	} while (0)

/* Counts a check; every 4096 it lets other tasks run, where the kernel does not preempt. */
static inline void test_checked(void)
{
	if (!(++test_state.checks % 4096))
		cond_resched();
}

#define CHECK(cond)                                                           \
	do {                                                                  \
		test_checked();                                               \
		if (!(cond))                                                  \
			test_fail(__FILE__, __LINE__, "not true: %s", #cond); \
	} while (0)

#define CHECK_EQ(a, b)                                                                           \
	do {                                                                                     \
		s64 check_a__ = (s64)(a), check_b__ = (s64)(b);                                  \
		test_checked();                                                                  \
		if (check_a__ != check_b__)                                                      \
			test_fail(__FILE__, __LINE__, "%s is %lld, %s is %lld, difference %lld", \
				  #a, check_a__, #b, check_b__, check_a__ - check_b__);          \
	} while (0)

#define CHECK_MASK_EQ(a, b, nr_cpus) test_check_mask(__FILE__, __LINE__, #a, a, #b, b, nr_cpus)
void test_check_mask(const char *file, int line, const char *a_name, const unsigned long *a,
		     const char *b_name, const unsigned long *b, u32 nr_cpus);

/* Bytes that this test has allocated by schedshard_alloc() and not freed yet. */
size_t test_bytes_allocated(void);

/* The @n-th schedshard_alloc() of this test from now on fails, 1: the next; 0: none does. */
void test_fail_alloc(unsigned int n);

/* xorshift64*: the same seed gives the same test. */
static inline u64 test_random(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

/* A number below @n, which is not 0. */
static inline u32 test_below(u64 *state, u32 n)
{
	return (u32)((test_random(state) >> 32) * n >> 32);
}

/* The tests' order of arguments; they do not use the kernel's test_bit(). */
#undef test_bit
#define test_bit(mask, cpu) test_mask_bit(mask, cpu)

#define TEST_WORD ((u32)(8 * sizeof(unsigned long))) /* CPUs a word of a mask */

static inline bool test_mask_bit(const unsigned long *mask, u32 cpu)
{
	return mask[cpu / TEST_WORD] >> cpu % TEST_WORD & 1;
}

static inline void test_set_bit(unsigned long *mask, u32 cpu)
{
	mask[cpu / TEST_WORD] |= 1ul << cpu % TEST_WORD;
}

/* Set the bits beyond @nr_cpus in the last word of a mask, which no function may use. */
static inline void test_set_tail(unsigned long *mask, u32 nr_cpus)
{
	if (nr_cpus % TEST_WORD)
		mask[nr_cpus / TEST_WORD] |= ~0ul << nr_cpus % TEST_WORD;
}

#define TEST_MAX_CPUS  8192
#define TEST_MAX_WORDS (TEST_MAX_CPUS / TEST_WORD)

#define calloc(n, size) kvcalloc(n, size, GFP_KERNEL)
#define free(ptr)	kvfree(ptr)

#endif /* _SCHEDSHARD_TEST_H */
