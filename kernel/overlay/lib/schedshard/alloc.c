// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for sharded structures: zeroed, starting on a cache line, on a NUMA node.
 *
 * Alignment. kmalloc() aligns a block to its size when that is a power of two, and
 * vmalloc() and the page allocator give whole pages. So a size up to a page is rounded up
 * to a power of two that is no smaller than a line, and a larger one to whole pages:
 * whichever of them serves, the block starts on a line, and nothing else shares its last.
 *
 * Contexts. The first calls come from sched_init(): interrupts are off, one CPU runs, slab
 * and vmalloc() work, and what could sleep does not (system_state is SYSTEM_BOOTING and
 * gfp_allowed_mask takes the waiting out of GFP_KERNEL). Later ones come from whoever makes
 * a root domain, under sched_domains_mutex. Freeing happens in an RCU callback: kvfree()
 * may be called there, since vfree() defers itself in an interrupt.
 *
 * Nodes. A plan knows nodes of CPUs that are not there yet. Such a node may be offline,
 * and the page allocator must not be asked for one; then any node serves.
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

/**
 * schedshard_alloc() - zeroed memory that starts on a cache line
 * @size: bytes, more than 0
 * @node: NUMA node that it should come from, -1: any
 *
 * Context: may sleep, except before the scheduler runs.
 * Return: the memory, or NULL when there is none. Another node than @node may serve
 * when that one is full or offline.
 */
void *schedshard_alloc(size_t size, int node)
{
	KUNIT_STATIC_STUB_REDIRECT(schedshard_alloc, size, node);
	return kvzalloc_node(whole_lines(size), GFP_KERNEL, usable_node(node));
}

/* For tests that let it fail: CONFIG_FAIL_FUNCTION. */
ALLOW_ERROR_INJECTION(schedshard_alloc, NULL);

/**
 * schedshard_free() - give memory of schedshard_alloc() back
 * @ptr: what schedshard_alloc() returned, or NULL
 * @size: the size that schedshard_alloc() was asked for
 *
 * Context: anywhere but NMI.
 */
void schedshard_free(void *ptr, size_t size)
{
	KUNIT_STATIC_STUB_REDIRECT(schedshard_free, ptr, size);
	kvfree(ptr);
}
