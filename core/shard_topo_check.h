/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Drops levels that are not known for all CPUs, chooses the level that serves as LLC, and finds
 * contradictions. Private to core/.
 */
#ifndef SHARD_TOPO_CHECK_H
#define SHARD_TOPO_CHECK_H

#include "port.h"
#include "shard_plan_make.h"
#include "shard_topo.h"

/*
 * Check @n records, 1 or more, which are in any order afterwards. @head receives the level that
 * serves as LLC, and the numbers of NUMA nodes and packages. @bad_cpu, if not NULL, receives the
 * CPU number of a contradiction.
 */
enum shard_plan_err shard_topo_check(struct shard_rec *rec, u32 n, struct shard_plan *head,
				     u32 *bad_cpu);

#endif /* SHARD_TOPO_CHECK_H */
