// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The harness, and a stand-in for port_alloc() and port_free() that is stricter than any real one.
 * The stand-in refuses to free a block with another size. It counts bytes, and fails on demand, so
 * that tests cover every out-of-memory path. A block ends with its last byte, not with its line, so
 * that the address sanitizer sees an access of one element too many.
 */
#include "test.h"

#include <stdarg.h>

struct test_state test_state;

void test_fail(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	printf("%s:%d: %s", file, line, test_state.name ? test_state.name : "main");
	if (test_state.shape)
		printf(", shape %s", test_state.shape);
	if (test_state.seed)
		printf(", seed %" PRIu64 ", step %" PRIu64, test_state.seed, test_state.step);
	printf(": ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n%u passed, 1 failed\n", test_state.passed);
	exit(1);
}

int test_done(void)
{
	test_state.name = "test_done";
	test_state.shape = NULL;
	CHECK_EQ(test_bytes_allocated(), 0);
	printf("%u passed, 0 failed\n", test_state.passed);
	return 0;
}

void test_check_mask(const char *file, int line, const char *a_name, const unsigned long *a,
		     const char *b_name, const unsigned long *b, u32 nr_cpus)
{
	u32 different = 0;

	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		if (test_bit(a, cpu) != test_bit(b, cpu) && different++ < 32)
			printf("  CPU %u: %d in %s, %d in %s\n", cpu, test_bit(a, cpu), a_name,
			       test_bit(b, cpu), b_name);
	if (different)
		test_fail(file, line, "%s and %s differ in %u CPUs", a_name, b_name, different);
}

u64 test_seed(int argc, char **argv)
{
	u64 seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20250101;

	return seed ? seed : 1;
}

struct block {
	size_t size;
} port_cacheline_aligned;

static u64 allocated;
static unsigned int fail_countdown;

size_t test_bytes_allocated(void)
{
	return READ_ONCE(allocated);
}

void test_fail_alloc(unsigned int n)
{
	fail_countdown = n;
}

void *port_alloc(size_t size, int node)
{
	struct block *block;
	void *memory;

	CHECK(size > 0);
	CHECK(node >= -1);
	if (fail_countdown && --fail_countdown == 0)
		return NULL;
	/* aligned_alloc() would want whole lines. */
	if (posix_memalign(&memory, PORT_CACHELINE, sizeof(*block) + size))
		test_fail(__FILE__, __LINE__, "no memory for %zu bytes", size);
	memset(memory, 0, sizeof(*block) + size);
	block = (struct block *)memory;
	block->size = size;
	port_add64(&allocated, size);
	return block + 1;
}

void port_free(void *ptr, size_t size)
{
	struct block *block;

	if (!ptr)
		return;
	block = (struct block *)ptr - 1;
	CHECK_EQ(size, block->size);
	port_add64(&allocated, -(u64)size);
	free(block);
}
