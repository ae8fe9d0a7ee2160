// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * cyclictest -t -i200 -h 32 -m -p 95 -q: one thread per CPU, not pinned (-t without -a), all at
 * FIFO 95. Each thread sleeps until absolute times 200 us apart (clock_nanosleep() with
 * TIMER_ABSTIME). With a histogram the distance between the threads' intervals is 0. The latency is
 * the time from the target time until the thread has read the clock.
 */
#include <stdlib.h>

#include "sleepers.h"

static int execute(struct run *run)
{
	struct sleepers s = { .run = run, .level = 95, .absolute = true };
	struct sleepers_result r;
	u64 p99;

	s.interval = rt_body_ps(run, "interval_us");
	s.work = rt_body_ps(run, "work_us");
	if (!s.interval || !s.work)
		return run_fail(run, "interval_us and work_us must be more than 0");
	if (sleepers_run(&s, &r))
		return -1;
	run_report(run, "latency_mean_ns", r.mean / 1000);
	p99 = r.late[r.cycles * 99 / 100];
	run_report(run, "latency_p99_ns", (double)p99 / 1000);
	run_report(run, "latency_max_ns", (double)r.late[r.cycles - 1] / 1000);
	run_report(run, "cycles", (double)r.cycles);
	free(r.late);
	return 0;
}

static const char *const params[] = { RT_PARAMS, "interval_us", "work_us", NULL };

extern const struct experiment cyclictest;
const struct experiment cyclictest = {
	.name = "cyclictest",
	.variants = rt_variants_global,
	.params = params,
	.execute = execute,
};
