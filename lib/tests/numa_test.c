// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests the library's port_alloc() on this machine and, compiled with a made-up tree, on a machine
 * with two nodes. The test runs the whole path down to the system call, which refuses nodes that do
 * not exist. The test harness is not linked, since its port_alloc() would replace this one.
 */
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <schedshard/schedshard.h>
#include "numa.h"

static int fail(const char *what, int i)
{
	printf("line %d: %s\n", i, what);
	return 1;
}

/* Return: 0 if the kernel prefers node 0 for the memory of @ptr, or does not answer; else 1. */
static int check_policy(char *ptr)
{
	unsigned long nodes[16] = { 0 };
	int mode = -1;

	shard_numa_place((void *)((uintptr_t)ptr & ~(uintptr_t)4095), 4096, 0);
	if (syscall(SYS_get_mempolicy, &mode, nodes, 1024ul, ptr, MPOL_F_ADDR))
		return errno == EPERM || errno == ENOSYS ? 0 : fail("no policy", errno);
	return mode == MPOL_PREFERRED && nodes[0] == 1 ? 0 : fail("not for node 0: mode", mode);
}

int main(int argc, char **argv)
{
	static const char zero[64];
	bool many = argc > 1 && !strcmp(argv[1], "many");
	char *line[2000];

	if (many && !shard_numa_many())
		return fail("one node, two were asked for", 0);
	for (int i = 0; i < 2000; i++) {
		/* Node 7 does not exist: the memory may be on any node. */
		line[i] = port_alloc(64, i % 3 == 2 ? 7 : i % 3);
		if (!line[i] || (uintptr_t)line[i] % 64)
			return fail("no memory, or not on a line", i);
		if (memcmp(line[i], zero, 64))
			return fail("not zero", i);
		memset(line[i], 1, 64);
	}
	/* Chunks are separate mappings, so no other memory shares their pages. */
	if (many && check_policy(line[0]))
		return 1;
	for (int i = 0; i < 2000; i++)
		port_free(line[i], 64);
	printf("2000 lines, %s\n", shard_numa_many() ? "several nodes" : "one node");
	return 0;
}
