/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * objects.h - makes structures of core/ in the set-up of a case. The structures have names for
 * schedules, and their constant parts are declared constant.
 */
#ifndef SIM_CASES_OBJECTS_H
#define SIM_CASES_OBJECTS_H

#include "port.h"
#include "sbm_more.h"
#include "shard_counter.h"
#include "shard_topo.h"

#include "../explore/explore_case.h"

/**
 * case_plan - a plan of one package, one CPU per core
 * @nr_cpus: CPUs of the plan, at most 32 in 8 shards; independent of the number of CPUs that run
 * @per_shard: CPUs of each LLC, and so of each shard
 */
const struct shard_plan *case_plan(u32 nr_cpus, u32 per_shard);

struct sbm *case_sbm(const struct shard_plan *plan, unsigned int flags);

#endif
