// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Decides whether to stop the tick. The prediction is that of Linux's "menu" governor: from the
 * last eight idle times, without the longest ones while these are outliers. A CPU that expects to
 * idle for less than a tick keeps the tick, and does not enter the idle set.
 *
 * If the tick wakes a CPU that kept it, the prediction was wrong. The idle time then counts as
 * long, so the CPU is more likely to stop the tick the next time.
 */
#include "fair_rq.h"

#define LONG_US	 45000 /* "could have been long, but not for ever" */
#define NO_GUESS UINT64_MAX

/* Number, mean, variance and maximum of some idle times. */
struct times {
	u64 n, mean, variance, longest;
};

static struct times look_at(const struct fair_cpu *me, u64 most)
{
	struct times t = { 0 };
	u64 sum = 0;

	for (u32 i = 0; i < FAIR_INTERVALS; i++) {
		u64 us = me->idle_for[i];

		if (us > most)
			continue;
		t.n++;
		sum += us;
		t.longest = us > t.longest ? us : t.longest;
	}
	t.mean = sum / t.n;
	for (u32 i = 0; i < FAIR_INTERVALS; i++) {
		s64 d = (s64)(me->idle_for[i] - t.mean);

		if (me->idle_for[i] <= most)
			t.variance += (u64)(d * d);
	}
	t.variance /= t.n;
	return t;
}

/* The typical idle time in microseconds, if there is one. */
static u64 typical(const struct fair_cpu *me)
{
	for (u64 most = UINT64_MAX;;) {
		struct times t = look_at(me, most);
		bool enough = t.n * 4 >= FAIR_INTERVALS * 3;

		if ((enough && t.mean * t.mean > 36 * t.variance) || t.variance <= 400)
			return t.mean;
		if (t.n * 4 <= FAIR_INTERVALS * 3)
			return NO_GUESS;
		most = t.longest - 1;
	}
}

bool fair_keep_tick(struct fair_cpu *me)
{
	u64 us = typical(me);

	return us != NO_GUESS && us * 1000000 < me->fair->costs.tick_period;
}

void fair_idle_ended(struct fair_cpu *me, bool by_tick)
{
	u64 us = (sim_now() - me->idle_begin) / 1000000;

	me->idle_for[me->idle_at++ % FAIR_INTERVALS] = by_tick ? LONG_US : us;
}
