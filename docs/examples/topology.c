// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The four sources of a topology, and the form of a refusal. */
#include <string.h>
#include "example.h"

int main(int argc, char **argv)
{
	struct schedshard_err err = { "" };
	struct schedshard_topo *topo = NULL;
	int ret;

	example_need(argc == 3, "usage: topology sysfs|hwloc|hwloc-xml|machine PATH");
	if (!strcmp(argv[1], "sysfs"))
		ret = schedshard_topo_from_sysfs(&topo, argv[2], &err); /* "/" is this machine */
	else if (!strcmp(argv[1], "hwloc"))
		ret = schedshard_topo_from_hwloc(&topo, &err);
	else if (!strcmp(argv[1], "hwloc-xml"))
		ret = schedshard_topo_from_hwloc_xml(&topo, argv[2], &err);
	else
		ret = schedshard_topo_from_machine(&topo, argv[2], &err);

	if (ret) {
		/* one line: what is wrong, where, what would be right */
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
