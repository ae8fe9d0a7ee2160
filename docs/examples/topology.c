// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Reads the topology of this machine or of a captured /sys tree; prints why a tree is refused. */
#include "example.h"

int main(int argc, char **argv)
{
	struct schedshard_err err = { "" };
	struct schedshard_topo *topo = NULL;

	example_need(argc == 2, "usage: topology ROOT");
	/* "/" is this machine */
	if (schedshard_topo_from_sysfs(&topo, argv[1], &err)) {
		/* one line that says what is wrong, where, and what would be right */
		printf("%s\n", err.text);
		return 2;
	}
	for (uint32_t cpu = 0; cpu < topo->nr_cpus && cpu < 4; cpu++)
		printf("CPU %u: package %d, node %d, LLC %d, core %d, thread %d\n", cpu,
		       topo->cpu[cpu].package, topo->cpu[cpu].node, topo->cpu[cpu].llc,
		       topo->cpu[cpu].core, topo->cpu[cpu].thread);
	schedshard_topo_free(topo);
	return 0;
}
