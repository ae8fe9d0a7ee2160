/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Machines of every shape that a plan must handle. */
#ifndef SHAPES_H
#define SHAPES_H

#include "shard_topo.h"

/* Levels that are unknown in a shape. */
enum {
	NO_LLC = 1,
	NO_NODE = 2,
	NO_PACKAGE = 4,
	NO_L2 = 8,
	NO_CORE = 16,
};

/**
 * struct shape - a regular machine, with what makes it irregular
 * @name: printed with a failure
 * @packages: packages
 * @nodes: nodes per package
 * @llcs: LLCs per node; with @llc_nodes more than 1: LLCs for every @llc_nodes nodes
 * @cores: cores per LLC
 * @threads: threads per core
 * @l2_cores: cores per L2
 * @adjacent: siblings have adjacent numbers, else all second threads come last
 * @hole: every @hole-th CPU number is not a CPU, 0: none
 * @hidden: the levels that are unknown, as bits
 * @llc_nodes: nodes that an LLC spans, 0 and 1: one
 * @cap: as in struct shard_plan_opts
 * @split_llc: as in struct shard_plan_opts
 */
struct shape {
	const char *name;
	u32 packages, nodes, llcs, cores, threads, l2_cores;
	bool adjacent;
	u32 hole;
	u32 hidden;
	u32 llc_nodes;
	u32 cap, split_llc;
};

extern const struct shape shapes[];
extern const u32 nr_shapes;

/* CPU records of a shape; free() them. */
struct shard_cpu *shape_cpus(const struct shape *shape, u32 *nr_cpus);

/* The shape's plan; the test fails when there is none. */
struct shard_plan *shape_plan(const struct shape *shape);

#endif /* SHAPES_H */
