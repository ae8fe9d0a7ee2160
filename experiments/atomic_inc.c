// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * N threads, one a CPU, increment a counter as fast as they can.
 *
 * Time for an operation is what each thread sees: threads x time of the measured window /
 * operations in it. Counting by window and not by summing the operations' own times matters:
 * an owner that gets several increments in a row makes many short operations, and would be
 * counted as many times.
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "experiment.h"
#include "layouts.h"
#include "machine.h"
#include "port.h"
#include "shard_counter.h"

struct inc {
	u64 *atomic;
	struct shard_counter *sharded;
	const struct model *model;
	u64 warm_up, measured; /* operations of all threads */
	u64 done, started_at, ended_at;
	u64 *ops; /* by CPU, in the window */
};

static void body(u32 cpu, void *arg)
{
	struct inc *x = arg;
	u32 number = x->model->cpu[cpu].number;

	while (x->done < x->warm_up + x->measured) {
		if (x->sharded)
			shard_counter_inc(x->sharded, number);
		else
			port_add64(x->atomic, 1);
		if (++x->done == x->warm_up) {
			sim_measure_from_here();
			x->started_at = sim_now();
		} else if (x->done > x->warm_up) {
			x->ops[cpu]++;
			x->ended_at = sim_now();
		}
	}
}

static int build(struct run *run, struct inc *x)
{
	const struct shard_plan_opts opts = { .cap = run->cap };
	struct shard_plan *plan;

	if (!strcmp(run->variant, "atomic")) {
		x->atomic = arena_alloc(sizeof(*x->atomic), 0, "counter", LAYOUT(counter_line));
		return 0;
	}
	arena_label("shard plan", NULL);
	if (shard_plan_build(&plan, &run->machine->topo, &opts))
		return run_fail(run, "the machine has no shard plan");
	x->sharded = arena_alloc(sizeof(*x->sharded), 0, "counter", "struct shard_counter");
	arena_label("counter line", LAYOUT(counter_line));
	if (!shard_counter_attach(x->sharded, plan))
		return run_fail(run, "out of memory");
	return 0;
}

static void report(struct run *run, const struct inc *x, u32 n)
{
	double window = (double)(x->ended_at - x->started_at), min = 0, max = 0;

	for (u32 i = 0; i < n; i++) {
		double mine = window / (x->ops[i] ? (double)x->ops[i] : 1);

		if (!i || mine < min)
			min = mine;
		if (!i || mine > max)
			max = mine;
	}
	run_report(run, "ns_per_op", window * n / (double)x->measured / 1000);
	run_report(run, "ns_per_op_min", min / 1000);
	run_report(run, "ns_per_op_max", max / 1000);
	run_report(run, "cycles_per_op", run_cycles(run, window * n / (double)x->measured));
	run_report(run, "ops_per_second", (double)x->measured / window * 1e12);
	run_report(run, "ops", (double)x->measured);
}

static int execute(struct run *run)
{
	u32 n = run->model->nr_cpus;
	struct inc x = { .model = run->model };
	u64 *ops = calloc(n, sizeof(*ops)), expected, sum;

	if (!ops)
		return run_fail(run, "out of memory");
	x.ops = ops;
	x.warm_up = (u64)run_param(run, "warm_up_ops") * n;
	x.measured = (u64)run_param(run, "measured_ops") * n;
	if (build(run, &x)) {
		free(ops);
		return -1;
	}
	for (u32 i = 0; i < n; i++)
		sim_spawn(i, body, &x, i);
	run->simulated = sim_run();
	expected = x.done;
	sum = x.sharded ? (u64)shard_counter_sum(x.sharded) : *x.atomic;
	if (sum == expected)
		report(run, &x, n);
	free(ops);
	return sum == expected ? 0 : run_fail(run, "the counter lost an increment");
}

static const char *const variants[] = { "atomic", "sharded", NULL };
static const char *const params[] = { "warm_up_ops", "measured_ops", NULL };

extern const struct experiment atomic_inc;
const struct experiment atomic_inc = {
	.name = "atomic-inc",
	.variants = variants,
	.params = params,
	.execute = execute,
};
