/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * topology.h - reads the place of each CPU from /sys of this machine, or from a captured tree.
 *
 * The result is the input of shard_plan_build(). A program may as well fill in the records itself.
 *
 * The last-level cache (LLC) of a CPU is its data or unified cache of the highest level, at least
 * level 2. The die, tile or cluster that contains it does not matter. The kernel shows no caches of
 * an offline CPU. If other CPUs' caches are known, the CPUs of one node without caches share one
 * invented LLC, so that all others keep their LLCs. If no CPU's caches are known, none has an LLC,
 * and the plan falls back to nodes or packages.
 *
 * In the records package and node have the numbers of the source. llc, l2 and core count from 0
 * without holes in topology order, and thread counts within its core. -1 means unknown.
 *
 * Concurrency: all functions may overlap; they share no state. A topology is constant from its
 * return until it is freed.
 */
#ifndef SCHEDSHARD_TOPOLOGY_H
#define SCHEDSHARD_TOPOLOGY_H

#include "port.h"
#include "shard_err.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "shard_topo.h"

/**
 * shard_topo_from_sysfs() - read a tree of /sys
 * @topo: receives the topology; not written on failure
 * @root: directory that has sys/devices/system/cpu below it; "/" for this machine
 * @err: describes a failure in one line, or NULL
 *
 * Covers all possible CPUs. A missing cache directory is not an error, but files that contradict
 * each other are (CPU 3 claims to share a cache with CPU 4, and CPU 4 does not). On this machine
 * the function reads the files of one CPU per cache and core, in a captured tree those of all CPUs.
 *
 * Context: any thread; allocates memory and reads files: about 20 per CPU of a captured tree.
 * Return: 0; -EINVAL when @root is not such a tree or contradicts itself, -ENOMEM, or the error of
 * opening or reading.
 */
int shard_topo_from_sysfs(struct shard_topo **topo, const char *root, struct shard_err *err);

/**
 * shard_topo_free() - free a topology
 * @topo: from shard_topo_from_sysfs(), or NULL
 *
 * A plan built from it stays valid.
 */
void shard_topo_free(struct shard_topo *topo);

#ifdef __cplusplus
}
#endif

#endif
