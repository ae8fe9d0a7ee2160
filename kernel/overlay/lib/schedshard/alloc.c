// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for sharded structures: zeroed, starting on a cache line, on a NUMA node.
 *
 * Alignment. kmalloc() aligns a block to its size when that is a power of two; vmalloc() and the
 * page allocator give whole pages. whole_lines() rounds sizes up to a page to a power of two of a
 * line or more, and larger ones to whole pages. So a block shares no line.
 *
 * Contexts. sched_init() makes the first calls: slab and vmalloc() work, and gfp_allowed_mask
 * removes the waiting from GFP_KERNEL. Later calls make a root domain, under sched_domains_mutex.
 * RCU callbacks free: there vfree() in kvfree() defers itself.
 *
 * Nodes. A plan knows nodes of CPUs that are not present. For an offline node, any node serves: the
 * page allocator does not accept an offline one.
 */
#include <linux/error-injection.h>
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/nodemask.h>
#include <linux/numa.h>
#include <linux/slab.h>
#include <linux/schedshard/port.h>
#include <kunit/static_stub.h>
#include <asm/page.h>

static size_t whole_lines(size_t size)
{
	size = max_t(size_t, size, PORT_CACHELINE);
	return size <= PAGE_SIZE ? roundup_pow_of_two(size) : round_up(size, PAGE_SIZE);
}

static int usable_node(int node)
{
	return node >= 0 && node < MAX_NUMNODES && node_online(node) ? node : NUMA_NO_NODE;
}

/*
 * Zeroed memory of @size bytes, more than 0, that starts on a cache line. @node: preferred NUMA
 * node, -1: any; if it is full or offline, others serve. Context: may sleep, except before the
 * scheduler runs. Return: NULL when there is no memory.
 */
void *schedshard_alloc(size_t size, int node)
{
	KUNIT_STATIC_STUB_REDIRECT(schedshard_alloc, size, node);
	return kvzalloc_node(whole_lines(size), GFP_KERNEL, usable_node(node));
}

/* For tests that let it fail: CONFIG_FAIL_FUNCTION. */
ALLOW_ERROR_INJECTION(schedshard_alloc, NULL);

/* Free memory of schedshard_alloc(), or NULL; @size as there. Context: anywhere but NMI. */
void schedshard_free(void *ptr, size_t size)
{
	KUNIT_STATIC_STUB_REDIRECT(schedshard_free, ptr, size);
	kvfree(ptr);
}
