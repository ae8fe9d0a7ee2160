// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Somebody's program: a set of this machine's CPUs. It needs a function and an inline one. */
#include <stdio.h>
#include <schedshard/schedshard.h>

int main(void)
{
	struct sbm *set = sbm_create();
	u32 cpu = shard_this_cpu();

	if (!set)
		return 1;
	sbm_set(set, cpu);
	if (!sbm_test(set, cpu) || sbm_weight(set) != 1)
		return 1;
	sbm_destroy(set);
	puts("one CPU");
	return 0;
}
