// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The library's own port_alloc(), on this machine and, started with HWLOC_SYNTHETIC, on a machine
 * of two nodes that hwloc makes up. It runs the whole path down to the system call, which then has
 * no effect. The test harness is not linked, since its port_alloc() would replace this one.
 */
#include <stdio.h>
#include <string.h>
#include <schedshard/schedshard.h>
#include "numa.h"

static int fail(const char *what, int i)
{
	printf("line %d: %s\n", i, what);
	return 1;
}

int main(int argc, char **argv)
{
	static const char zero[64];
	bool many = argc > 1 && !strcmp(argv[1], "many");
	char *line[2000];

	if (many && !shard_numa_many())
		return fail("hwloc has one node, two were asked for", 0);
	for (int i = 0; i < 2000; i++) {
		/* node 7 exists nowhere: any memory serves */
		line[i] = port_alloc(64, i % 3 == 2 ? 7 : i % 3);
		if (!line[i] || (uintptr_t)line[i] % 64)
			return fail("no memory, or not on a line", i);
		if (memcmp(line[i], zero, 64))
			return fail("not zero", i);
		memset(line[i], 1, 64);
	}
	for (int i = 0; i < 2000; i++)
		port_free(line[i], 64);
	printf("2000 lines, %s\n", shard_numa_many() ? "several nodes" : "one node");
	return 0;
}
