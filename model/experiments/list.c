// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include <stddef.h>

#include "experiment.h"

/* All experiments, in the order of lists. */
#define EXPERIMENTS(X)           \
	X(cpumask_yield)         \
	X(atomic_inc)            \
	X(ping_pong)             \
	X(primitives_experiment) \
	X(ffmpeg_rt)             \
	X(cyclic)                \
	X(pi)                    \
	X(mutex_rt)              \
	X(cyclictest)            \
	X(rt_groups)             \
	X(idle_mask)             \
	X(cache_scan)

#define DECLARE(name) extern const struct experiment name;
#define ENTRY(name)   &(name),

EXPERIMENTS(DECLARE)

const struct experiment *const experiments[] = { EXPERIMENTS(ENTRY) NULL };
