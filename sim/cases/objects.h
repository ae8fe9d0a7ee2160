/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * objects.h - core/'s structures, made for a case: with names for schedules, and
 * with what never changes declared constant. Set-up only.
 */
#ifndef SIM_CASES_OBJECTS_H
#define SIM_CASES_OBJECTS_H

#include "port.h"
#include "bytemap.h"
#include "sbm.h"
#include "shard_counter.h"
#include "shard_plan.h"

#include "../explore_case.h"

/**
 * case_plan - a plan of one package, one CPU a core
 * @nr_cpus: CPUs of the plan, at most 32 in 8 shards; nothing to do with those that run
 * @per_shard: CPUs an LLC, hence a shard
 */
const struct shard_plan *case_plan(u32 nr_cpus, u32 per_shard);

struct sbm *case_sbm(const struct shard_plan *plan, unsigned int flags);
struct bytemap *case_bytemap(const struct shard_plan *plan, u8 value);

#endif
