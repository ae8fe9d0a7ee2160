// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Expansion of a regular machine.
 *
 * Everything follows from the rank of a core in topology order. Each level's number is the rank
 * divided by the number of cores per element of that level. So numbers are unique in the machine,
 * start at 0 and have no holes. Nodes are ranges of ranks in the package, not in the LLC. This also
 * describes sub-NUMA clusters, where one LLC spans several nodes.
 */
#include "internal.h"
#include "machine_shape.h"

u32 machine_shape_cpus(const struct machine_shape *shape)
{
	const u32 factor[] = { shape->packages, shape->llcs_per_package, shape->cores_per_llc,
			       shape->threads_per_core };
	u64 cpus = 1;

	/* 8192 squared fits, so a check after each factor keeps the product exact */
	for (u32 i = 0; i < sizeof(factor) / sizeof(factor[0]); i++) {
		cpus *= factor[i];
		if (cpus > SHARD_LIB_MAX_CPUS)
			return 0;
	}
	return (u32)cpus;
}

void machine_shape_expand(const struct machine_shape *shape, struct shard_cpu *cpu)
{
	u32 package_cores = shape->llcs_per_package * shape->cores_per_llc;
	u32 node_cores = package_cores / shape->nodes_per_package;
	u32 cores = shape->packages * package_cores;

	for (u32 core = 0; core < cores; core++) {
		for (u32 thread = 0; thread < shape->threads_per_core; thread++) {
			u32 nr = shape->threads_adjacent ? core * shape->threads_per_core + thread
							 : thread * cores + core;
			struct shard_cpu *at = &cpu[nr];

			at->package = (s32)(core / package_cores);
			at->node = (s32)(core / node_cores);
			at->llc = (s32)(core / shape->cores_per_llc);
			at->l2 = (s32)(core / shape->cores_per_l2);
			at->core = (s32)core;
			at->thread = (s32)thread;
			at->possible = true;
		}
	}
}
