// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* First use: a set of CPUs for this machine. */
#include <err.h>
#include <stdio.h>
#include <schedshard/schedshard.h>

int main(void)
{
	struct schedshard_sbm *set = schedshard_sbm_create();
	uint32_t here, cpu;

	if (!set)
		err(1, "schedshard_sbm_create");
	here = schedshard_this_cpu();
	schedshard_sbm_set(set, here);
	printf("this CPU: %d\n", schedshard_sbm_test(set, here));
	schedshard_sbm_for_each_cpu(cpu, it, set)
		printf("CPU %u is set\n", cpu);
	schedshard_sbm_clear(set, here);
	printf("this CPU: %d\n", schedshard_sbm_test(set, here));
	schedshard_sbm_destroy(set);
	return 0;
}
