// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Two pinned threads alternate on one word.
 *
 * Neither thread can get ahead of the other, so one clock is enough. The time is measured from the
 * end of one turn of the first player to the end of a later one. The interval contains as many
 * turns of the other player, so a store that a store buffer delays counts exactly once.
 *
 * The first game of a pair is short; its time determines how many turns fill the budget. The
 * players know that number before they begin, so neither waits forever.
 */
#include "live.h"
#include "sample.h"

#define FIRST_TURNS 200u
#define MAX_TURNS   100000000u
#define WARM_UP	    0.2 /* share of a game */
#define LOST_SHARE  0.01
#define LOST_NS	    10e3

struct game {
	const struct ping_pong *way;
	u64 *word;
	u64 warm_up, counted; /* turns of each player */
	double ns, lost[2];
};

static void play(u32 number, void *arg)
{
	struct game *g = arg;
	struct crew_watch watch = crew_watch_start();

	if (number) {
		g->way->turns(g->word, 1, g->warm_up + g->counted);
	} else {
		double start;

		g->way->turns(g->word, 0, g->warm_up);
		start = sample_now_ns();
		g->way->turns(g->word, 2 * g->warm_up, g->counted);
		g->ns = sample_now_ns() - start;
	}
	g->lost[number] = crew_watch_lost(&watch);
}

int live_ping_pong_turn(const struct live *live, struct live_point *point, double budget,
			struct live_sample *sample)
{
	u64 turns = point->turns ? point->turns : FIRST_TURNS, want;
	struct game g = { .way = point->way,
			  .warm_up = (u64)((double)turns * WARM_UP),
			  .counted = turns - (u64)((double)turns * WARM_UP) };
	bool whole;
	double ns;

	g.word = port_alloc(sizeof(*g.word),
			    live->home < 0 ? live->node[point->member[0]] : live->home);
	if (!g.word)
		return complain(1, "out of memory");
	crew_begin(live->crew, point->member, 2, play, &g);
	crew_end(live->crew);
	whole = READ_ONCE(*g.word) == 2 * (g.warm_up + g.counted);
	port_free(g.word, sizeof(*g.word));
	if (!whole)
		return complain(1, "%s between CPUs %u and %u: a turn was lost", point->way->name,
				live->cpu[point->member[0]], live->cpu[point->member[1]]);
	ns = g.ns / (2.0 * (double)g.counted);
	*sample = (struct live_sample){ .ns = ns, .min = ns, .max = ns };
	for (u32 i = 0; i < 2; i++)
		if (g.lost[i] > g.ns * LOST_SHARE + LOST_NS)
			sample->disturbed = true;
	want = (u64)(budget / (2 * (ns > 0.1 ? ns : 0.1)));
	/* A disturbed game looks slow, so the next game may be longer, but not by too much. */
	want = want > 8 * turns ? 8 * turns : want;
	point->turns = want < FIRST_TURNS ? FIRST_TURNS : want > MAX_TURNS ? MAX_TURNS : want;
	return 0;
}
