/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * topology.h - the place of each CPU, from several sources.
 *
 * Each function fills a struct shard_topo, the input of shard_plan_build():
 *
 *   shard_topo_from_sysfs      this machine (root "/"), or a captured tree
 *   shard_topo_from_hwloc      this machine, as hwloc sees it
 *   shard_topo_from_hwloc_xml  another machine, written by lstopo
 *   shard_topo_from_machine    a machine file
 *
 * All but the first are in libschedshard-machine (pkg-config: schedshard-machine).
 *
 * The last-level cache (LLC) of a CPU is its data or unified cache of the highest level, at least
 * level 2. The die, tile or cluster that contains it does not matter. The kernel shows no caches of
 * an offline CPU. If other CPUs' caches are known, the CPUs of one node without caches share one
 * invented LLC, so that all others keep their LLCs. If no CPU's caches are known, none has an LLC,
 * and the plan falls back to nodes or packages.
 *
 * Numbers in the records: package and node as the source numbers them. llc, l2 and core count from
 * 0 without holes in topology order, thread within its core. -1: unknown.
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
 * Covers all possible CPUs. A missing cache directory is not an error. Files that contradict each
 * other are an error (CPU 3 claims to share a cache with CPU 4, and CPU 4 does not). On this
 * machine it reads the files of one CPU per cache and core, in a captured tree those of all CPUs.
 *
 * Context: any thread; allocates memory and reads files: about 20 per CPU of a captured tree.
 * Return: 0; -EINVAL when @root is not such a tree or contradicts itself, -ENOMEM, or the error of
 * opening or reading.
 */
int shard_topo_from_sysfs(struct shard_topo **topo, const char *root, struct shard_err *err);

/**
 * shard_topo_from_hwloc() - this machine's topology from hwloc
 * @topo: receives the topology; not written on failure
 * @err: describes a failure in one line, or NULL
 *
 * hwloc obeys its own environment variables (HWLOC_XMLFILE, HWLOC_SYNTHETIC, ...).
 *
 * Context: any thread; allocates memory, reads /sys and /proc.
 * Return: 0; -ENOSYS when the library was built without hwloc, -ENOMEM, or hwloc's error.
 */
int shard_topo_from_hwloc(struct shard_topo **topo, struct shard_err *err);

/**
 * shard_topo_from_hwloc_xml() - read a topology that lstopo wrote
 * @topo: receives the topology; not written on failure
 * @path: XML file, format of hwloc 1 or 2
 * @err: describes a failure in one line, or NULL
 *
 * hwloc trusts what it reads: its version 2.9 crashes on some XML that lstopo never wrote.
 * schedshard-topo therefore lets a child process read the file first.
 *
 * Context: any thread; allocates memory, reads one file. Return: 0, or an error. -EINVAL: hwloc
 * cannot load the file, or it contains no CPU that the library can number. Else -ENOSYS, -ENOMEM,
 * or the error of opening or reading.
 */
int shard_topo_from_hwloc_xml(struct shard_topo **topo, const char *path, struct shard_err *err);

/**
 * shard_topo_from_machine() - the topology of a machine file
 * @topo: receives the topology; not written on failure
 * @path: machine file, see machine.h
 * @err: describes a failure in one line, or NULL
 *
 * Context: any thread; allocates memory, reads one file.
 * Return: as machine_load().
 */
int shard_topo_from_machine(struct shard_topo **topo, const char *path, struct shard_err *err);

/**
 * shard_topo_free() - free a topology
 * @topo: from one of the functions above, or NULL
 *
 * A plan built from it stays valid.
 */
void shard_topo_free(struct shard_topo *topo);

#ifdef __cplusplus
}
#endif

#endif
