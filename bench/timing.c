// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Measures ratios that are robust on a busy machine.
 *
 * A time alone says little on a host whose clock frequency, neighbours and interrupts change from
 * one millisecond to the next. So the entries of a bout take turns. In every round each runs for
 * about a tenth of a millisecond or more, one right after the other. Each time is divided by the
 * reference's time in the same round. A disturbance of a whole round cancels out. A disturbance of
 * a single turn affects one ratio of many: the median ignores it, and the printed spread (10th to
 * 90th percentile) shows it. The entry that begins rotates from round to round, so no entry always
 * follows the same other one.
 */
#include "bench.h"
#include "sample.h"

#include <errno.h>
#include <stdlib.h>

/* The value that a share @share of the sorted values does not exceed. */
static double percentile(const double *sorted, u32 n, double share)
{
	return sorted[(u32)(share * (n - 1) + 0.5)];
}

/*
 * The number of calls in a turn of about @turn_ns; the calls to find this number also warm the
 * caches.
 */
static u64 calls_for(const struct bench_bout *bout, const struct bench_entry *entry, double turn_ns,
		     bench_turn turn)
{
	u64 calls = 1;

	for (;;) {
		double ns = turn(bout, entry, calls);

		if (ns >= turn_ns / 4) {
			double want = (double)calls * turn_ns / ns;

			return want < 1 ? 1 : (u64)want;
		}
		calls *= 2;
	}
}

int bench_time_turns(struct bench_bout *bout, const struct bench_effort *effort, bench_turn turn)
{
	u32 rounds = effort->rounds;
	double *ns = calloc((size_t)rounds * bout->nr, sizeof(*ns)); /* one entry after the other */
	double *ratio = calloc(rounds, sizeof(*ratio));
	u64 calls[BENCH_MAX_ENTRIES];

	if (!ns || !ratio) {
		free(ns);
		free(ratio);
		return -ENOMEM;
	}
	for (u32 i = 0; i < bout->nr; i++)
		calls[i] = calls_for(bout, &bout->entry[i], effort->turn_ns, turn);
	for (u32 round = 0; round < rounds; round++) {
		for (u32 i = 0; i < bout->nr; i++) {
			u32 e = (i + round) % bout->nr;

			ns[e * rounds + round] = turn(bout, &bout->entry[e], calls[e]) /
						 ((double)calls[e] * bout->ops);
		}
	}
	/*
	 * Backwards, so that the reference comes last: sorting an entry's times loses their rounds.
	 */
	for (u32 e = bout->nr; e-- > 0;) {
		struct bench_time *time = &bout->entry[e].time;
		double *own = &ns[e * rounds];

		for (u32 round = 0; round < rounds; round++)
			ratio[round] = own[round] / ns[round];
		sample_sort(ratio, rounds);
		sample_sort(own, rounds);
		*time = (struct bench_time){
			.ns = percentile(own, rounds, 0.5),
			.ratio = percentile(ratio, rounds, 0.5),
			.low = percentile(ratio, rounds, 0.1),
			.high = percentile(ratio, rounds, 0.9),
		};
		bout->entry[e].timed = true;
	}
	free(ns);
	free(ratio);
	return 0;
}

static double turn_alone(const struct bench_bout *bout, const struct bench_entry *entry, u64 calls)
{
	double start = sample_now_ns();

	for (u64 i = 0; i < calls; i++)
		entry->kernel(entry->object, bout->cpu, bout->n);
	return sample_now_ns() - start;
}

int bench_time_bout(struct bench_bout *bout, const struct bench_effort *effort)
{
	return bench_time_turns(bout, effort, turn_alone);
}
