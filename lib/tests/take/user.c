// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* A user's program: a set of this machine's CPUs, with a library function and an inline one. */
#include <stdio.h>
#include <schedshard/schedshard.h>

int main(void)
{
	struct schedshard_sbm *set = schedshard_sbm_create();
	uint32_t cpu = schedshard_this_cpu();

	if (!set)
		return 1;
	schedshard_sbm_set(set, cpu);
	if (!schedshard_sbm_test(set, cpu) || schedshard_sbm_weight(set) != 1)
		return 1;
	schedshard_sbm_destroy(set);
	puts("one CPU");
	return 0;
}
