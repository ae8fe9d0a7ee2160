/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
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
 * Return: the topology, for shard_topo_free(), or NULL if there is no memory.
 */
struct shard_topo *shard_topo_alloc(u32 nr_cpus, struct shard_cpu **cpu);

/**
 * shard_topo_read_known() - read a tree of /sys, for shard_topo_complete()
 * @topo: receives the records; the id of a cache or core is the lowest CPU number of its list, or
 *	-1 if the tree does not say. Not written on failure
 * @root: "/", or a tree
 * @live: as for shard_topo_read()
 * @err: describes a failure, or NULL
 *
 * Return: as shard_topo_from_sysfs().
 */
int shard_topo_read_known(struct shard_topo **topo, const char *root, bool live,
			  struct shard_err *err);

/**
 * shard_topo_complete() - make complete records for a plan
 * @known: records of a source; an id is the lowest CPU number of a group
 *
 * Return: a new topology, filled and numbered, or NULL if there is no memory.
 */
struct shard_topo *shard_topo_complete(const struct shard_topo *known);

/**
 * shard_topo_keep() - add earlier knowledge about CPUs of which nothing is known now
 * @now: new records of a source
 * @before: earlier records of that source, or an earlier result of this function
 *
 * The kernel shows no caches of an offline CPU. So such a CPU joins the group of the first member
 * of its former group that has a group now. All CPUs of @before stay possible.
 *
 * Return: new records, ids as in @now, or NULL if there is no memory.
 */
struct shard_topo *shard_topo_keep(const struct shard_topo *now, const struct shard_topo *before);

/* Are all records the same? */
bool shard_topo_same(const struct shard_topo *a, const struct shard_topo *b);

/**
 * shard_topo_read() - shard_topo_from_sysfs() for a tree that may be live
 * @topo: receives the topology; not written on failure
 * @root: "/", or a tree
 * @live: the tree is a running kernel's: read the lists of only one CPU per cache and core
 * @err: describes a failure, or NULL
 *
 * Return: as shard_topo_from_sysfs().
 */
int shard_topo_read(struct shard_topo **topo, const char *root, bool live, struct shard_err *err);

#endif
