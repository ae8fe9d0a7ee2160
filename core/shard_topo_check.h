/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Between shard_topo_check.c and shard_topo.c; private to them.
 *
 * Concurrency: none, the records belong to one build. Ordering: none. Context: any.
 */
#ifndef SHARD_TOPO_CHECK_H
#define SHARD_TOPO_CHECK_H

#include "port.h"
#include "shard_plan_make.h"
#include "shard_topo.h"

/**
 * shard_topo_check() - drop half-known levels, choose the LLC's level, find contradictions
 * @rec: the possible CPUs; in any order afterwards
 * @n: how many, 1 or more
 * @head: where to store the level that gives the LLCs, the number of NUMA nodes and of packages
 * @bad_cpu: NULL, or where to store the CPU number of a contradiction
 *
 * Return: SHARD_PLAN_OK or what is wrong.
 */
enum shard_plan_err shard_topo_check(struct shard_rec *rec, u32 n, struct shard_plan *head,
				     u32 *bad_cpu);

#endif /* SHARD_TOPO_CHECK_H */
