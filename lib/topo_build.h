/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* topo_build.h - making a struct shard_topo, shared by all sources of topology. */
#ifndef SCHEDSHARD_TOPO_BUILD_H
#define SCHEDSHARD_TOPO_BUILD_H

#include "port.h"
#include "internal.h"
#include "shard_topo.h"

/**
 * shard_topo_alloc() - allocate a topology with every CPU unknown and not possible
 * @nr_cpus: CPU numbers are 0..nr_cpus-1, 1 to %SHARD_LIB_MAX_CPUS
 * @cpu: receives the records, writable until the topology is returned to the user
 *
 * Return: the topology, for shard_topo_free(); NULL: no memory.
 */
struct shard_topo *shard_topo_alloc(u32 nr_cpus, struct shard_cpu **cpu);

/**
 * shard_topo_fill() - complete the record of every possible CPU for the plan
 * @cpu: records, written
 * @nr_cpus: how many
 *
 * The plan takes a level as unknown for all CPUs when it is unknown for one. So a CPU without
 * information goes where it does no harm. If it knows its package or its node, it gets the other
 * one from the first CPU that shares that (or a new one). Else it gets both from the first CPU that
 * has both. It shares an LLC with the unknown CPUs of the same package and node. A level that is
 * unknown for all CPUs stays unknown.
 */
void shard_topo_fill(struct shard_cpu *cpu, u32 nr_cpus);

/**
 * shard_topo_number() - renumber llc, l2 and core from 0 without holes, in the same order
 * @cpu: records
 * @nr_cpus: how many
 * @ids: all of them are below this number
 *
 * Return: false: no memory.
 */
bool shard_topo_number(struct shard_cpu *cpu, u32 nr_cpus, u32 ids);

/**
 * shard_topo_read_known() - what a tree of /sys says, for shard_topo_complete()
 * @topo: receives the records; an id of a cache or core is the lowest CPU number of its list, -1:
 *	the tree does not say; not written on failure
 * @root: "/", or a tree
 * @live: as for shard_topo_read()
 * @err: describes a failure, or NULL
 *
 * Return: as shard_topo_from_sysfs().
 */
int shard_topo_read_known(struct shard_topo **topo, const char *root, bool live,
			  struct shard_err *err);

/**
 * shard_topo_complete() - records for a plan
 * @known: what a source says: an id is the lowest CPU number of a group
 *
 * Return: a new topology, filled and numbered; NULL: no memory.
 */
struct shard_topo *shard_topo_complete(const struct shard_topo *known);

/**
 * shard_topo_keep() - what was known before, of CPUs of which nothing is known now
 * @now: what a source says now
 * @before: what it said before, or this function's result
 *
 * The kernel shows no caches of a CPU that is off line. A CPU's former groups tell which groups it
 * is in now: those of the first former member that is in one. All CPUs of @before stay possible.
 *
 * Return: new records, ids as in @now; NULL: no memory.
 */
struct shard_topo *shard_topo_keep(const struct shard_topo *now, const struct shard_topo *before);

/* Are all records the same? */
bool shard_topo_same(const struct shard_topo *a, const struct shard_topo *b);

/**
 * shard_topo_read() - shard_topo_from_sysfs(), of a tree that may be live
 * @topo: receives the topology; not written on failure
 * @root: "/", or a tree
 * @live: a kernel shows it now: the lists of one CPU of each cache and core are read, and not those
 *	of the other CPUs in them
 * @err: describes a failure, or NULL
 *
 * Return: as shard_topo_from_sysfs().
 */
int shard_topo_read(struct shard_topo **topo, const char *root, bool live, struct shard_err *err);

#endif
