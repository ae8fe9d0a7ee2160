// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* All experiments, and the functions of the runner that they call. */
#include <stdlib.h>
#include <string.h>

#include "experiment.h"

extern const struct experiment atomic_inc, cpumask_yield, cpumask_read, ffmpeg_rt, cyclic, pi,
	mutex_rt, cyclictest, rt_groups, idle_mask, idle_counter, ping_pong, primitives_experiment;

extern const struct experiment cache_scan, cache_scan_hackbench, cache_scan_threads,
	cache_scan_migrate;

const struct experiment *const experiments[] = { &cpumask_yield,
						 &cpumask_read,
						 &atomic_inc,
						 &ping_pong,
						 &primitives_experiment,
						 &ffmpeg_rt,
						 &cyclic,
						 &pi,
						 &mutex_rt,
						 &cyclictest,
						 &rt_groups,
						 &idle_mask,
						 &idle_counter,
						 &cache_scan,
						 &cache_scan_hackbench,
						 &cache_scan_threads,
						 &cache_scan_migrate,
						 NULL };

double run_param(const struct run *run, const char *name)
{
	for (uint32_t i = 0; i < run->nr_params; i++)
		if (!strcmp(run->param[i].name, name))
			return run->param[i].value;
	abort(); /* the experiment reads a parameter that it did not list */
}

void run_report(struct run *run, const char *name, double value)
{
	if (run->nr_metrics == RUN_MAX_METRICS)
		abort();
	run->metric[run->nr_metrics++] = (struct run_value){ name, value };
}

int run_fail(struct run *run, const char *why)
{
	size_t n = strlen(why);

	if (n >= sizeof(run->failure))
		n = sizeof(run->failure) - 1;
	memcpy(run->failure, why, n);
	run->failure[n] = '\0';
	return -1;
}
