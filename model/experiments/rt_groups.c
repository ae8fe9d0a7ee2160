// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The threads of rt-groups.toml share one root domain, or each group has its own (a partition). */
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
	s.spinners = (u32)run_param(run, "spinners");
	s.interval = rt_body_ps(run, "sleep_us");
	s.work = rt_body_ps(run, "work_us");
	if (!s.group || !s.interval || !s.work)
		return run_fail(run, "cpus_per_group, sleep_us and work_us must be more than 0");
	if (s.level < 1 || s.level > 99 || s.levels < 1 || s.levels > s.level)
		return run_fail(run, "level must be 1 to 99, and levels 1 to level");
	if (s.group < 2 && s.spinners)
		return run_fail(
			run,
			"spinners share two CPUs of a group: cpus_per_group must be 2 or more");
	if (sleepers_run(&s, &r))
		return -1;
	run_report(run, "latency_mean_ns", r.mean / 1000);
	run_report(run, "spun_share", r.spun);
	p99 = r.late[r.cycles * 99 / 100];
	run_report(run, "latency_p99_ns", (double)p99 / 1000);
	free(r.late);
	return 0;
}

static const char *const params[] = { RT_PARAMS,  "cpus_per_group", "level",   "levels",
				      "spinners", "sleep_us",	    "work_us", NULL };

extern const struct experiment rt_groups;
const struct experiment rt_groups = {
	.name = "rt-groups",
	.variants = rt_variants,
	.params = params,
	.execute = execute,
};
