/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* machine_shape.h - a regular machine as a few counts, and its expansion into CPU records. */
#ifndef SCHEDSHARD_MACHINE_SHAPE_H
#define SCHEDSHARD_MACHINE_SHAPE_H

#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "shard_topo.h"

/**
 * struct machine_shape - the counts of a regular machine
 * @packages: packages
 * @nodes_per_package: NUMA nodes of each, equal numbers of its cores in order
 * @llcs_per_package: LLCs of each, over all of its nodes
 * @cores_per_llc: cores of each LLC
 * @cores_per_l2: consecutive cores that share an L2; divides @cores_per_llc
 * @threads_per_core: SMT threads of each core
 * @threads_adjacent: CPU numbers of siblings follow each other; otherwise all
 *	first threads are numbered in topology order, then all second threads, ...
 */
struct machine_shape {
	u32 packages, nodes_per_package, llcs_per_package, cores_per_llc, cores_per_l2;
	u32 threads_per_core;
	bool threads_adjacent;
};

/**
 * machine_shape_cpus() - the number of CPUs of a shape
 * @shape: every count at least 1 and at most %SHARD_LIB_MAX_CPUS
 *
 * Return: the number, or 0 when it is above %SHARD_LIB_MAX_CPUS.
 */
u32 machine_shape_cpus(const struct machine_shape *shape);

/**
 * machine_shape_expand() - write one record per CPU
 * @shape: a shape that machine_shape_cpus() accepts and whose cores per package
 *	are a multiple of its nodes
 * @cpu: room for machine_shape_cpus() records
 */
void machine_shape_expand(const struct machine_shape *shape, struct shard_cpu *cpu);

#ifdef __cplusplus
}
#endif

#endif
