// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Compares the line allocator with a list of its blocks, which must be aligned, zero, on a chunk of
 * their node, and must not overlap.
 *
 * This test compiles lib/alloc.c under other names (the harness has its own port_alloc()), above a
 * stand-in for the kernel with four nodes. PLAIN_MALLOC is off, so that the sanitizers watch the
 * chunks, too.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "numa.h"
#include "test.h"

void *lib_port_alloc(size_t size, int node);
void lib_port_free(void *ptr, size_t size);

#define CHUNK (64u << 10)

/* The placements that were requested, in order. */
static struct placed {
	char *start;
	size_t size;
	int node;
} placed[1 << 14];
static u64 nr_placed;

bool shard_numa_many(void)
{
	return true;
}

void shard_numa_place(void *ptr, size_t size, int node)
{
	u64 at = port_fetch_add64(&nr_placed, 1);

	if (at >= sizeof(placed) / sizeof(placed[0]))
		test_fail(__FILE__, __LINE__, "more placements than the test can hold");
	placed[at] = (struct placed){ ptr, size, node };
}

/* The node of the latest placement that covers @ptr; -1: none does. */
static int node_of(const char *ptr)
{
	for (u64 at = nr_placed; at-- > 0;) {
		if (ptr >= placed[at].start && ptr < placed[at].start + placed[at].size)
			return placed[at].node;
	}
	return -1;
}

static bool is_filled(const char *ptr, size_t size, char with)
{
	for (size_t i = 0; i < size; i++) {
		if (ptr[i] != with)
			return false;
	}
	return true;
}

static void lines_share_pages(void)
{
	char *line[600];

	for (u32 i = 0; i < 600; i++)
		line[i] = lib_port_alloc(64, 2);
	for (u32 i = 0; i < 600; i++) {
		CHECK_EQ(node_of(line[i]), 2);
		CHECK_EQ((uintptr_t)line[i] / CHUNK, (uintptr_t)line[0] / CHUNK);
	}
	for (u32 i = 0; i < 600; i++)
		lib_port_free(line[i], 64);
}

static void nodes_share_nothing(void)
{
	char *a = lib_port_alloc(64, 0), *b = lib_port_alloc(64, 3), *c = lib_port_alloc(64, -1);

	CHECK_EQ(node_of(a), 0);
	CHECK_EQ(node_of(b), 3);
	CHECK((uintptr_t)a / CHUNK != (uintptr_t)b / CHUNK);
	CHECK((uintptr_t)a / CHUNK != (uintptr_t)c / CHUNK);
	CHECK((uintptr_t)b / CHUNK != (uintptr_t)c / CHUNK);
	lib_port_free(a, 64);
	lib_port_free(b, 64);
	lib_port_free(c, 64);
	lib_port_free(NULL, 64);
}

static void large_blocks(void)
{
	/* around a quarter of a chunk, where blocks begin to have their own mappings */
	for (size_t size = CHUNK / 4 - 65; size <= CHUNK / 4 + 65; size++) {
		char *ptr = lib_port_alloc(size, 1);

		CHECK(ptr);
		CHECK_EQ((uintptr_t)ptr % 64, 0);
		CHECK_EQ(node_of(ptr), 1);
		CHECK(is_filled(ptr, size, 0));
		memset(ptr, 1, size);
		lib_port_free(ptr, size);
	}
}

static void impossible_sizes(void)
{
	CHECK(!lib_port_alloc(SIZE_MAX, 0));
	CHECK(!lib_port_alloc(SIZE_MAX / 2, 0));
}

struct block {
	char *ptr;
	size_t size;
	int node;
	char fill;
};

/* Random sizes, nodes and lifetimes; each block is filled with one byte value and must keep it. */
static void random_blocks(u64 seed, u32 steps)
{
	struct block blocks[300] = { { NULL, 0, 0, 0 } };
	u64 rng = seed;

	for (u32 step = 0; step < steps; step++) {
		struct block *b = &blocks[test_below(&rng, 300)];

		if (b->ptr) {
			CHECK(is_filled(b->ptr, b->size, b->fill));
			lib_port_free(b->ptr, b->size);
			b->ptr = NULL;
			continue;
		}
		b->size = 1 + test_below(&rng, test_below(&rng, 20) ? 1000 : 40000);
		b->node = (int)test_below(&rng, 5) - 1;
		b->fill = (char)(1 + test_below(&rng, 255));
		b->ptr = lib_port_alloc(b->size, b->node);
		CHECK(b->ptr);
		CHECK_EQ((uintptr_t)b->ptr % 64, 0);
		CHECK(is_filled(b->ptr, b->size, 0));
		memset(b->ptr, b->fill, b->size);
	}
	for (u32 i = 0; i < 300; i++)
		lib_port_free(blocks[i].ptr, blocks[i].size);
}

static void one_thread(void)
{
	random_blocks(1, 20000);
}

static void *thread_body(void *seed)
{
	random_blocks((u64)(uintptr_t)seed, 2000);
	return NULL;
}

static void threads(void)
{
	pthread_t thread[4];

	for (uintptr_t i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread[i], NULL, thread_body, (void *)(i + 1)));
	for (u32 i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

static bool stop;

static void *churn(void *unused)
{
	while (!READ_ONCE(stop))
		lib_port_free(lib_port_alloc(64, 0), 64);
	return unused;
}

/* A child frees and allocates, though another thread of its parent held the lock at the fork. */
static void forked_child(void)
{
	void *line = lib_port_alloc(64, 1), *keeps_chunk = lib_port_alloc(64, 0);
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, churn, NULL), 0);
	for (u32 i = 0; i < 200; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			alarm(60);
			lib_port_free(line, 64);
			_exit(!lib_port_alloc(64, 1));
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
	WRITE_ONCE(stop, true);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	lib_port_free(line, 64);
	lib_port_free(keeps_chunk, 64);
}

int main(void)
{
	RUN(forked_child);
	RUN(lines_share_pages);
	RUN(nodes_share_nothing);
	RUN(large_blocks);
	RUN(impossible_sizes);
	RUN(one_thread);
	RUN(threads);
	return test_done();
}
