// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* All experiments. */
#include <stddef.h>

#include "experiment.h"

extern const struct experiment atomic_inc, cpumask_yield, ffmpeg_rt, cyclic, pi, mutex_rt,
	cyclictest, rt_groups, idle_mask, ping_pong, primitives_experiment, store_seen, cache_scan;

const struct experiment *const experiments[] = {
	&cpumask_yield, &atomic_inc, &ping_pong,  &store_seen, &primitives_experiment,
	&ffmpeg_rt,	&cyclic,     &pi,	  &mutex_rt,   &cyclictest,
	&rt_groups,	&idle_mask,  &cache_scan, NULL
};
