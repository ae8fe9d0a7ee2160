// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * What doctor sees on a machine: real-time threads that are pinned in groups of CPUs, one thread a
 * CPU, and sleep a given time. They all share the root domain, or each group has its own
 * (partition).
 */
#include <stdlib.h>

#include "sleepers.h"

static int execute(struct run *run)
{
	struct sleepers s = { .run = run };
	struct sleepers_result r;
	u64 p99;

	s.group = (u32)run_param(run, "cpus_per_group");
	s.level = (int)run_param(run, "level");
	s.levels = (int)run_param(run, "levels");
	s.interval = rt_run_ps(run, "sleep_us");
	s.work = rt_run_ps(run, "work_us");
	if (!s.group || !s.interval || !s.work)
		return run_fail(run, "cpus_per_group, sleep_us and work_us must be more than 0");
	if (s.level < 1 || s.level > 99 || s.levels < 1 || s.levels > s.level)
		return run_fail(run, "level must be 1 to 99, and levels 1 to level");
	if (sleepers_run(&s, &r))
		return -1;
	run_report(run, "latency_mean_ns", r.mean / 1000);
	p99 = r.late[r.cycles * 99 / 100];
	run_report(run, "latency_p99_ns", (double)p99 / 1000);
	free(r.late);
	return 0;
}

static const char *const params[] = { RT_PARAMS,  "cpus_per_group", "level", "levels",
				      "sleep_us", "work_us",	    NULL };

extern const struct experiment rt_groups;
const struct experiment rt_groups = {
	.name = "rt-groups",
	.variants = rt_variants,
	.params = params,
	.execute = execute,
};
