// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * On every CPU two threads yield to each other; one sets its CPU in a mask, the other clears it.
 * The experiment counts the time inside the mask operations as a kernel would. That time
 * goes from one reading of the time-stamp counter to the next, so it contains one such reading.
 *
 * One parameter is the time between two operations, that is, of the yield with its context switch.
 * That time was not published, and the costs of contended layouts depend on it (latency = CPUs x
 * service - think time). It is uniform in [0.9, 1.1] x its mean, so that CPUs do not synchronise.
 *
 * The read side (readers_every > 0): one CPU in readers_every walks the whole set at tick rate, as
 * idle load balancing does.
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "experiment.h"
#include "group_mask.h"
#include "line_types.h"
#include "machine.h"
#include "port.h"
#include "sbm_more.h"

struct yield {
	const struct model *model;
	struct group_mask *group;
	struct sbm *sbm;
	u64 think, tick;
	u32 readers_every;
	u64 warm_up, measured, done; /* operations of all CPUs */
	u64 op_time, ops, read_time, reads, seen;
	u32 left_set; /* CPUs whose last operation was a set */
	u64 started_at, ended_at;
};

/* Visit every CPU in the set once, as a balancer would. Return: the number of CPUs. */
static u32 walk(const struct yield *y)
{
	u32 cpu, n = 0;

	if (y->group)
		return group_mask_weight(y->group);
	sbm_for_each_cpu(cpu, it, y->sbm)
		n++;
	return n;
}

static void flip(const struct yield *y, u32 cpu, bool set)
{
	if (y->group) {
		if (set)
			group_mask_set(y->group, cpu);
		else
			group_mask_clear(y->group, cpu);
	} else if (set) {
		sbm_set(y->sbm, cpu);
	} else {
		sbm_clear(y->sbm, cpu);
	}
}

static void count_read(struct yield *y, u64 time, u32 seen)
{
	if (y->done <= y->warm_up)
		return;
	y->read_time += time;
	y->reads++;
	y->seen += seen;
}

static void body(u32 cpu, void *arg)
{
	struct yield *y = arg;
	u32 number = y->model->cpu[cpu].number;
	bool reader = y->readers_every && cpu % y->readers_every == 0;
	u64 next_tick = sim_now() + (y->tick ? sim_random() % y->tick : 0);
	bool set = true;

	while (y->done < y->warm_up + y->measured) {
		u64 begin;

		sim_spend(y->think * 9 / 10 + sim_random() % (y->think / 5 + 1));
		if (reader && sim_now() >= next_tick) {
			u32 seen;

			begin = sim_now();
			seen = walk(y);
			count_read(y, sim_now() - begin, seen);
			next_tick += y->tick;
		}
		begin = sim_now();
		sim_spend(y->model->timestamp);
		flip(y, number, set);
		set = !set;
		if (++y->done == y->warm_up) {
			sim_measure_from_here();
			y->started_at = sim_now();
		} else if (y->done > y->warm_up) {
			y->op_time += sim_now() - begin;
			y->ops++;
			y->ended_at = sim_now();
		}
	}
	y->left_set += !set;
}

/*
 * Declare memory constant, unless CPUs walk: what count_read() counts after a walk depends on how
 * far the other CPUs have come, so accesses must not run ahead of them.
 */
static void constant(const struct yield *y, const void *ptr, size_t size)
{
	if (!y->readers_every)
		arena_constant(ptr, size);
}

static int build(struct run *run, struct yield *y)
{
	const char *v = run->variant;
	bool summary = !strcmp(v, "sbm-summary");
	const struct shard_plan_opts opts = { .cap = run->cap };
	struct shard_plan *plan;

	arena_label("mask", !strcmp(v, "llc-byte") ? LAYOUT(byte_line) : LAYOUT(mask_line));
	if (!strcmp(v, "global"))
		y->group = group_mask_alloc(&run->machine->topo, GROUP_ALL, false);
	else if (!strcmp(v, "node"))
		y->group = group_mask_alloc(&run->machine->topo, GROUP_NODE, false);
	else if (!strcmp(v, "llc"))
		y->group = group_mask_alloc(&run->machine->topo, GROUP_LLC, false);
	else if (!strcmp(v, "llc-byte"))
		y->group = group_mask_alloc(&run->machine->topo, GROUP_LLC, true);
	if (y->group) {
		constant(y, y->group, sizeof(*y->group));
		constant(y, y->group->slot, run->machine->topo.nr_cpus * sizeof(*y->group->slot));
		run_report(run, "bytes", (double)y->group->size);
		return 0;
	}
	arena_label("shard plan", NULL);
	if (shard_plan_build(&plan, &run->machine->topo, &opts))
		return run_fail(run, "the machine has no shard plan");
	constant(y, plan, plan->bytes);
	arena_label(summary ? "sbm with summary" : "sbm", LAYOUT(sbm_line));
	y->sbm = sbm_alloc(plan, summary ? SBM_SUMMARY : 0);
	if (!y->sbm)
		return run_fail(run, "out of memory");
	constant(y, y->sbm, y->sbm->bytes);
	run_report(run, "bytes", (double)plan->nr_shards * LINE_SIZE);
	return 0;
}

/* Is every CPU's bit as its last operation left it, so that no update was lost? */
static bool consistent(const struct yield *y)
{
	return walk(y) == y->left_set;
}

static int execute(struct run *run)
{
	u32 n = run->model->nr_cpus;
	struct yield y = { .model = run->model };
	double ns_per_op;

	y.think = (u64)(run_param(run, "yield_ns") * 1000);
	y.tick = (u64)(run_param(run, "tick_us") * 1000000);
	y.readers_every = (u32)run_param(run, "readers_every");
	y.warm_up = (u64)run_param(run, "warm_up_ops") * n;
	y.measured = (u64)run_param(run, "measured_ops") * n;
	if (!y.think)
		return run_fail(run, "yield_ns must be more than 0");
	if (build(run, &y))
		return -1;
	for (u32 i = 0; i < n; i++)
		sim_spawn(i, body, &y, y.think / n * i);
	run->simulated = sim_run();
	if (!consistent(&y))
		return run_fail(run, "the mask lost a CPU");
	ns_per_op = (double)y.op_time / (double)y.ops / 1000;
	run_report(run, "cycles_per_op", run_cycles(run, ns_per_op * 1000));
	run_report(run, "ns_per_op", ns_per_op);
	run_report(run, "ops", (double)y.ops);
	run_report(run, "ops_per_second",
		   (double)y.ops / (double)(y.ended_at - y.started_at) * 1e12);
	/* The share of all CPUs' time that mask operations took. */
	run_report(run, "share", (double)y.op_time / (double)(y.ended_at - y.started_at) / n);
	if (y.reads) {
		run_report(run, "cycles_per_read",
			   run_cycles(run, (double)y.read_time / (double)y.reads));
		run_report(run, "reads", (double)y.reads);
		run_report(run, "cpus_seen_per_read", (double)y.seen / (double)y.reads);
	}
	return 0;
}

static const char *const variants[] = { "global", "node",	 "llc", "llc-byte",
					"sbm",	  "sbm-summary", NULL };
static const char *const params[] = { "yield_ns",    "tick_us",	     "readers_every",
				      "warm_up_ops", "measured_ops", NULL };

extern const struct experiment cpumask_yield;
const struct experiment cpumask_yield = {
	.name = "cpumask-yield",
	.variants = variants,
	.params = params,
	.execute = execute,
};
