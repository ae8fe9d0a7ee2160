// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* First use: a set of CPUs for this machine. */
#include <err.h>
#include <stdio.h>
#include <schedshard/schedshard.h>

int main(void)
{
	struct sbm *set = sbm_create();
	u32 here, cpu;

	if (!set)
		err(1, "sbm_create");
	here = shard_this_cpu();
	sbm_set(set, here);
	printf("this CPU: %d\n", sbm_test(set, here));
	sbm_for_each_cpu(cpu, it, set)
		printf("CPU %u is set\n", cpu);
	sbm_clear(set, here);
	printf("this CPU: %d\n", sbm_test(set, here));
	sbm_destroy(set);
	return 0;
}
