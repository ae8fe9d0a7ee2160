// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * stress-ng --cyclic N --cyclic-policy fifo: one worker per CPU, not pinned, at the highest FIFO
 * priority. Each worker reads the clock, sleeps for a fixed time (clock_nanosleep(), relative),
 * reads the clock again and records how late it was. One such cycle is one bogo operation.
 */
#include <stdlib.h>

#include "sleepers.h"

static int execute(struct run *run)
{
	struct sleepers s = { .run = run, .level = 99 };
	struct sleepers_result r;
	u64 p99;

	s.interval = rt_body_ps(run, "sleep_us");
	s.work = rt_body_ps(run, "work_us");
	if (!s.interval || !s.work)
		return run_fail(run, "sleep_us and work_us must be more than 0");
	if (sleepers_run(&s, &r))
		return -1;
	run_report(run, "ops_per_second", (double)r.cycles / r.seconds);
	run_report(run, "latency_mean_ns", r.mean / 1000);
	p99 = r.late[r.cycles * 99 / 100];
	run_report(run, "latency_p99_ns", (double)p99 / 1000);
	free(r.late);
	return 0;
}

static const char *const params[] = { RT_PARAMS, "sleep_us", "work_us", NULL };

extern const struct experiment cyclic;
const struct experiment cyclic = {
	.name = "cyclic",
	.variants = rt_variants_global,
	.params = params,
	.execute = execute,
};
