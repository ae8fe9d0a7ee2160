// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Two CPUs alternate on one line, see model/primitives/ping_pong.h. The line's home is the first
 * CPU's node, unless a parameter sets another one.
 *
 * The measured window begins and ends at the end of a turn of the first CPU. The window contains an
 * equal number of turns of the other CPU. So a store that leaves its store buffer late counts once.
 */
#include "ping_pong.h"
#include "arena.h"
#include "experiment.h"
#include "machine.h"

struct game {
	const struct ping_pong *way;
	u64 *word;
	u64 warm_up, measured; /* turns of one player */
	u64 started_at, ended_at;
};

/* The type of the shared line, for reports. */
struct ping_pong_line {
	u64 turn;
	u8 unused[PORT_CACHELINE - sizeof(u64)];
};

static void body(u32 player, void *arg)
{
	struct game *g = arg;

	for (u64 i = 0; i < g->warm_up + g->measured; i++) {
		if (!player && i == g->warm_up) {
			sim_measure_from_here();
			g->started_at = sim_now();
		}
		g->way->turns(g->word, 2 * i + player, 1);
	}
	if (!player)
		g->ended_at = sim_now();
}

static int execute(struct run *run)
{
	const struct model *model = run->model;
	u32 asked = (u32)run_param(run, "home");
	int home = asked ? (int)asked - 1 : (int)model->core[model->cpu[0].core].node;
	struct game g = { .way = ping_pong_find(run->variant),
			  .warm_up = (u64)run_param(run, "warm_up_ops"),
			  .measured = (u64)run_param(run, "measured_ops") };
	double ops = 2 * (double)g.measured, time;

	if (model->nr_cpus != 2)
		return run_fail(run, "it takes two CPUs: give --pair FROM,TO");
	if (asked > model->nr_nodes)
		return run_fail(run, "the machine has no such home node");
	if (!g.measured)
		return run_fail(run, "measured_ops must be at least 1");
	g.word = arena_alloc(sizeof(struct ping_pong_line), home, "ping-pong line",
			     "struct ping_pong_line");
	for (u32 player = 0; player < 2; player++)
		sim_spawn(player, body, &g, player);
	run->simulated = sim_run();
	if (*g.word != 2 * (g.warm_up + g.measured))
		return run_fail(run, "a turn was lost");
	time = (double)(g.ended_at - g.started_at);
	run_report(run, "ns_per_op", time / ops / 1000);
	run_report(run, "cycles_per_op", run_cycles(run, time / ops));
	run_report(run, "ops_per_second", ops / time * 1e12);
	run_report(run, "ops", ops);
	return 0;
}

static const char *const variants[] = { "cas",	      "read-cas", "read-inc",
					"read-store", "exchange", NULL };
static const char *const params[] = { "warm_up_ops", "measured_ops", "home", NULL };

extern const struct experiment ping_pong;
const struct experiment ping_pong = {
	.name = "ping-pong",
	.variants = variants,
	.params = params,
	.execute = execute,
};
