// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Calls mbind() to place memory on NUMA nodes.
 *
 * The first caller reads whether several nodes have memory, and nothing changes that answer later.
 * The kernel refuses a node without memory, and then mbind() changes nothing.
 */
#include <limits.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cpulist.h"
#include "internal.h"
#include "numa.h"

/* A test compiles this file with another tree. */
#ifndef SYSFS_ROOT
#define SYSFS_ROOT ""
#endif

#define NODES	  SYSFS_ROOT "/sys/devices/system/node/"
#define MAX_NODES 1024u /* Linux's own limit */
#define WORD_BITS (CHAR_BIT * sizeof(unsigned long))

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool many;

/* The number of nodes that a file lists; 0: it cannot be read. */
static u32 listed(const char *path)
{
	struct cpulist nodes;
	u32 nr = 0;
	size_t len;
	char *text;

	if (shard_read_file(path, 4096, &text, &len, NULL))
		return 0;
	if (!shard_cpulist_parse(&nodes, text, len))
		nr = shard_cpulist_weight(&nodes);
	free(text);
	return nr;
}

static void load(void)
{
	u32 nr = listed(NODES "has_memory");

	many = (nr ? nr : listed(NODES "online")) > 1;
}

bool shard_numa_many(void)
{
	pthread_once(&once, load);
	return many;
}

void shard_numa_place(void *ptr, size_t size, int node)
{
	unsigned long mask[MAX_NODES / WORD_BITS] = { 0 };

	if (node < 0 || node >= (int)MAX_NODES)
		return;
	mask[(u32)node / WORD_BITS] = 1ul << (u32)node % WORD_BITS;
	/* the kernel reads one bit less than this argument */
	syscall(SYS_mbind, ptr, size, MPOL_PREFERRED, mask, (unsigned long)MAX_NODES + 1, 0u);
}
