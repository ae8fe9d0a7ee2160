/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The test harness: checks that print both sides and their difference, a counter of passed tests, a
 * random number generator. A test is a function without arguments. A file lists its tests and ends
 * with TEST_MAIN(), or has a main() that calls RUN(name) for each test and returns test_done().
 *
 * The first failed check ends the program with status 1: later checks would say nothing after a
 * broken invariant.
 */
#ifndef TEST_H
#define TEST_H

#include "port.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct test_state {
	const char *name;
	const char *shape; /* printed with a failure when set */
	unsigned int passed;
	u64 start; /* the seed that randomised tests start from */
	u64 seed;  /* of a randomised test, printed with a failure when not 0 */
	u64 step;
};

extern struct test_state test_state;

#define RUN(test)                        \
	do {                             \
		test_state.name = #test; \
		test();                  \
		test_state.passed++;     \
	} while (0)

/*
 * #define TESTS(TEST) TEST(a) TEST(b)
 * TEST_MAIN(name, TESTS): runs the tests a and b.
 */
#define TEST_MAIN(name, tests)                            \
	int main(int argc, char **argv)                   \
	{                                                 \
		test_state.start = test_seed(argc, argv); \
		tests(TEST_RUN) return test_done();       \
	}
#define TEST_RUN(test) RUN(test);

void test_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
int test_done(void);

#define CHECK(cond)                                                           \
	do {                                                                  \
		if (!(cond))                                                  \
			test_fail(__FILE__, __LINE__, "not true: %s", #cond); \
	} while (0)

#define CHECK_EQ(a, b)                                                                             \
	do {                                                                                       \
		s64 check_a__ = (s64)(a), check_b__ = (s64)(b);                                    \
		if (check_a__ != check_b__)                                                        \
			test_fail(__FILE__, __LINE__,                                              \
				  "%s is %" PRId64 ", %s is %" PRId64 ", difference %" PRId64, #a, \
				  check_a__, #b, check_b__, check_a__ - check_b__);                \
	} while (0)

/* Ordinary masks of @nr_cpus bits: prints every CPU in which they differ. */
#define CHECK_MASK_EQ(a, b, nr_cpus) test_check_mask(__FILE__, __LINE__, #a, a, #b, b, nr_cpus)
void test_check_mask(const char *file, int line, const char *a_name, const unsigned long *a,
		     const char *b_name, const unsigned long *b, u32 nr_cpus);

/* Bytes of port_alloc() that are not freed yet. */
size_t test_bytes_allocated(void);

/* Makes the @n-th port_alloc() from now on fail: 1 is the next one; 0 means none. */
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

/* Seed of the command line, or a fixed one; never 0. */
u64 test_seed(int argc, char **argv);

#define TEST_WORD ((u32)(8 * sizeof(unsigned long))) /* CPUs per word of a mask */

static inline bool test_bit(const unsigned long *mask, u32 cpu)
{
	return mask[cpu / TEST_WORD] >> cpu % TEST_WORD & 1;
}

static inline void test_set_bit(unsigned long *mask, u32 cpu)
{
	mask[cpu / TEST_WORD] |= 1ul << cpu % TEST_WORD;
}

/* Sets the bits beyond @nr_cpus in the last word of a mask; no function may use these bits. */
static inline void test_set_tail(unsigned long *mask, u32 nr_cpus)
{
	if (nr_cpus % TEST_WORD)
		mask[nr_cpus / TEST_WORD] |= ~0ul << nr_cpus % TEST_WORD;
}

/* The largest number of CPU numbers of a shape; masks on the stack have this many bits. */
#define TEST_MAX_CPUS  8192
#define TEST_MAX_WORDS (TEST_MAX_CPUS / TEST_WORD)

#endif /* TEST_H */
