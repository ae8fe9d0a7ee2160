// SPDX-License-Identifier: GPL-2.0-only
/*
 * The harness, with stubs of schedshard_alloc() and schedshard_free(). They check the size of each
 * freed block, count allocated bytes, and fail on demand, so that tests cover every out-of-memory
 * path. As static stubs they serve only the test's task; other tasks can make root domains.
 *
 * KUnit calls test_end() in another task than test_begin(), hence a semaphore and not a mutex.
 */
#include "test.h"

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <linux/list.h>
#include <linux/semaphore.h>

struct test_state test_state;

static DEFINE_SEMAPHORE(test_lock, 1);

/* In front of each block, on a line of its own; the lines of the block follow. */
struct block {
	struct list_head list;
	size_t size;
} port_cacheline_aligned;

static LIST_HEAD(blocks);
static size_t allocated;
static unsigned int fail_countdown;

void test_say_failed(const char *file, int line, const char *fmt, ...)
{
	struct kunit *test = kunit_get_current_test();
	static char words[512];
	va_list args;

	va_start(args, fmt);
	vscnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	KUNIT_FAIL(test, "%s:%d: %s%s%s, seed %llu, step %llu: %s", kbasename(file), line,
		   test_state.name, test_state.shape ? ", shape " : "",
		   test_state.shape ? test_state.shape : "", test_state.seed, test_state.step,
		   words);
}

void test_check_mask(const char *file, int line, const char *a_name, const unsigned long *a,
		     const char *b_name, const unsigned long *b, u32 nr_cpus)
{
	u32 different = 0, first = 0;

	test_checked();
	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		if (test_bit(a, cpu) != test_bit(b, cpu) && !different++)
			first = cpu;
	if (different)
		test_fail(file, line, "%s and %s differ in %u CPUs, first in CPU %u: %d, %d",
			  a_name, b_name, different, first, test_bit(a, first), test_bit(b, first));
}

size_t test_bytes_allocated(void)
{
	return allocated;
}

void test_fail_alloc(unsigned int n)
{
	fail_countdown = n;
}

static void *test_alloc(size_t size, int node)
{
	size_t bytes = sizeof(struct block) + round_up(size, PORT_CACHELINE);
	struct block *block;

	CHECK(size > 0);
	CHECK(node >= -1);
	if (fail_countdown && --fail_countdown == 0)
		return NULL;
	/* A power of two is aligned to itself, see lib/schedshard/alloc.c. */
	block = kvzalloc(roundup_pow_of_two(bytes), GFP_KERNEL);
	if (!block)
		test_fail(__FILE__, __LINE__, "no memory for %zu bytes", size);
	block->size = size;
	list_add(&block->list, &blocks);
	allocated += size;
	return block + 1;
}

static void test_free(void *ptr, size_t size)
{
	struct block *block = (struct block *)ptr - 1;

	if (!ptr)
		return;
	CHECK_EQ(size, block->size);
	list_del(&block->list);
	allocated -= size;
	kvfree(block);
}

int test_begin(struct kunit *test)
{
	down(&test_lock);
	memset(&test_state, 0, sizeof(test_state));
	test_state.start = 20250101;
	allocated = 0;
	fail_countdown = 0;
	kunit_activate_static_stub(test, schedshard_alloc, test_alloc);
	kunit_activate_static_stub(test, schedshard_free, test_free);
	return 0;
}

void test_end(struct kunit *test)
{
	struct block *block, *next;

	/* A failed test may leave blocks allocated. */
	if (test->status == KUNIT_SUCCESS)
		KUNIT_EXPECT_EQ(test, allocated, 0);
	list_for_each_entry_safe(block, next, &blocks, list) {
		list_del(&block->list);
		kvfree(block);
	}
	kunit_info(test, "%llu checks", test_state.checks);
	up(&test_lock);
}
