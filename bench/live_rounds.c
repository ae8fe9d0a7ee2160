// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A point is one operation on given CPUs, and has one turn in every round. So a slow phase of the
 * host affects one turn of many points, not all turns of one point. Rounds continue until each
 * point has enough undisturbed turns, there were MOST_ROUNDS rounds per wanted turn, or time is up.
 *
 * The result is the median of the turns. A minimum or a lower quartile would be wrong, because a
 * disturbance slows the two threads of a ping-pong, but may make contended operations faster.
 */
#include "live.h"
#include "sample.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ROUNDS	4u
#define MIN_UNDISTURBED 3u
#define GAME_NS		1e6
#define WINDOW_NS	2.5e6
#define MAX_WINDOW_NS	50e6
#define LEAST		0.1   /* minimum duration of a turn, relative to the usual one */
#define WINDOW_OPS	200.0 /* operations of each thread in a turn, if operations are slow */

static u32 undisturbed(const struct live_point *p)
{
	u32 n = 0;

	for (u32 i = 0; i < p->nr_samples; i++)
		n += !p->sample[i].disturbed;
	return n;
}

/* Return a shorter duration of a turn, within bounds, if the time limit requires that. */
static double shorter(const struct live *live, double usual)
{
	double share = live->limit_ns / ((double)live->nr_points * live->repeats) / (1.5 * usual);

	return usual * (share > 1 ? 1 : share < LEAST ? LEAST : share);
}

static int turn(const struct live *live, struct live_point *p)
{
	struct live_sample *sample = &p->sample[p->nr_samples];
	int ret;

	if (p->way) {
		ret = live_ping_pong_turn(live, p, shorter(live, GAME_NS), sample);
		/* The first game only measures the duration of a game. */
		if (!ret && !p->nr_samples && p->window == 0) {
			p->window = GAME_NS;
			ret = live_ping_pong_turn(live, p, shorter(live, GAME_NS), sample);
		}
	} else {
		double usual = p->window > 0 ? p->window : WINDOW_NS;

		ret = live_primitive_turn(live, p, shorter(live, usual), sample);
		usual = sample->ns * WINDOW_OPS;
		if (!ret && p->window == 0)
			p->window = usual < WINDOW_NS	    ? WINDOW_NS
				    : usual > MAX_WINDOW_NS ? MAX_WINDOW_NS
							    : usual;
	}
	if (!ret)
		p->nr_samples++;
	return ret;
}

static bool wants_more(const struct live *live, const struct live_point *p)
{
	return undisturbed(p) < live->repeats && p->nr_samples < live->repeats * MOST_ROUNDS;
}

static void report_progress(const struct live *live, double begun)
{
	double time = (sample_now_ns() - begun) / live->limit_ns, share = 0;

	for (u32 i = 0; i < live->nr_points; i++) {
		const struct live_point *p = &live->point[i];
		double most = (double)p->nr_samples / (live->repeats * MOST_ROUNDS);
		double mine = (double)undisturbed(p) / live->repeats;

		share += mine > 1 ? 1 : mine > most ? mine : most;
	}
	share /= live->nr_points;
	share = time > share ? time : share;
	live->progress(share > 1 ? 1 : share);
}

int live_measure(struct live *live)
{
	double begun = sample_now_ns();
	bool more = true;

	for (u32 i = 0; i < live->nr_points; i++) {
		live->point[i].sample =
			calloc((size_t)live->repeats * MOST_ROUNDS, sizeof(struct live_sample));
		if (!live->point[i].sample)
			return complain(1, "out of memory");
	}
	while (more) {
		more = false;
		for (u32 i = 0; i < live->nr_points; i++) {
			struct live_point *p = &live->point[i];
			int ret, moved;

			if (!wants_more(live, p))
				continue;
			if (sample_now_ns() - begun >= live->limit_ns)
				return 0;
			ret = turn(live, p);
			if (ret)
				return ret;
			moved = crew_moved(live->crew);
			if (moved >= 0)
				return complain(1, "CPU %d went offline during the measurement",
						moved);
			report_progress(live, begun);
			more = true;
		}
	}
	return 0;
}

/* Return the quantile @share of the sorted values. */
static double percentile(const double *sorted, u32 n, double share)
{
	return sorted[(u32)(share * (n - 1) + 0.5)];
}

static double median(const double *sorted, u32 n)
{
	return (sorted[n / 2] + sorted[(n - 1) / 2]) / 2;
}

struct live_summary live_summary(const struct live_point *p)
{
	u32 good = undisturbed(p);
	bool all = good < MIN_UNDISTURBED;
	struct live_summary s = { .disturbed = p->nr_samples - good };
	double *value = calloc(p->nr_samples, sizeof(*value));

	for (u32 what = 0; value && what < 3; what++) {
		u32 n = 0;

		for (u32 i = 0; i < p->nr_samples; i++) {
			const struct live_sample *sample = &p->sample[i];

			if (all || !sample->disturbed)
				value[n++] = what == 0	 ? sample->ns
					     : what == 1 ? sample->min
							 : sample->max;
		}
		sample_sort(value, n);
		s.rounds = n;
		if (what == 0) {
			s.median.ns = median(value, n);
			s.low = percentile(value, n, 0.1);
			s.high = percentile(value, n, 0.9);
		} else {
			*(what == 1 ? &s.median.min : &s.median.max) = median(value, n);
		}
	}
	s.median.disturbed = all;
	free(value);
	return s;
}
