// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Runs the experiments `primitives` and `atomic-inc`; `atomic-inc` has one operation.
 *
 * The time of an operation is what each thread sees: threads x time of the measured window /
 * operations in it. The mean of the times of single operations would be wrong: an owner that
 * performs several increments in a row does many short operations, and each would count.
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "create.h"
#include "experiment.h"
#include "machine.h"
#include "names.h"
#include "primitive.h"
#include "sim_futex.h"

#define MAX_LINES 64

struct contest {
	const struct model *model;
	const struct primitive *primitive;
	void *state[MAX_LINES];
	u32 lines;	/* number of states; operations use them in turn */
	u64 hold, work; /* picoseconds inside an operation, and after it on average */
	u64 code;	/* picoseconds of the operation's instructions other than its accesses */
	u64 warm_up, measured; /* operations of all threads */
	u64 done, started_at, ended_at;
	u64 *ops; /* by CPU, in the window */
};

static void hold(void *arg)
{
	sim_spend(*(const u64 *)arg);
}

static void body(u32 cpu, void *arg)
{
	struct contest *x = arg;
	const struct primitive_thread me = { .number = cpu,
					     .cpu = x->model->cpu[cpu].number,
					     .hold = x->hold ? hold : NULL,
					     .arg = &x->hold };

	while (x->done < x->warm_up + x->measured) {
		for (u32 i = 0; i < x->lines; i++)
			x->primitive->ops(x->state[i], &me, 1);
		sim_spend((x->work ? sim_about(x->work) : 0) + x->code);
		if (++x->done == x->warm_up) {
			sim_measure_from_here();
			x->started_at = sim_now();
		} else if (x->done > x->warm_up) {
			x->ops[cpu]++;
			x->ended_at = sim_now();
		}
	}
}

static void report(struct run *run, const struct contest *x, u32 n)
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

static u64 ps(const struct run *run, const char *ns)
{
	return (u64)(run_param(run, ns) * 1000);
}

/* @node: by thread */
static void let_sleep(const struct run *run, const struct contest *x, const int *node)
{
	const struct sim_futex_costs costs = {
		.syscall = ps(run, "syscall_ns"),
		.futex_wait = ps(run, "futex_wait_ns"),
		.futex_wake = ps(run, "futex_wake_ns"),
		.schedule = ps(run, "schedule_ns"),
		.context_switch = ps(run, "context_switch_ns"),
		.wake = ps(run, "wake_ns"),
		.queue = ps(run, "queue_ns"),
		.ipi_send = ps(run, "ipi_send_ns"),
		.ipi_travel = ps(run, "ipi_travel_ns"),
		.irq = ps(run, "irq_ns"),
		.idle_exit = ps(run, "idle_exit_ns"),
	};

	sim_futex_begin(run->model->nr_cpus, x->lines, node, &costs);
}

static bool create(struct run *run, struct contest *x)
{
	const struct shard_plan_opts opts = { .cap = run->cap };
	u32 n = run->model->nr_cpus;
	struct primitive_place place = { .nr_threads = n };
	int *node = calloc(n, sizeof(*node));
	struct shard_plan *plan, *pools = NULL;
	const struct shard_plan_opts few = { .cap = SHARD_CAP_POOL, .cores = true };
	bool made = true;

	arena_label("shard plan", NULL);
	if (!node || shard_plan_build(&plan, &run->machine->topo, &opts) ||
	    shard_plan_build(&pools, &run->machine->topo, &few)) {
		free(node);
		return false;
	}
	for (u32 i = 0; i < n; i++)
		node[i] = (int)run->model->core[run->model->cpu[i].core].node;
	place.node = node;
	place.plan = plan;
	place.pools = pools;
	primitive_label_hook = arena_label;
	for (u32 i = 0; i < x->lines; i++)
		made = (x->state[i] = x->primitive->create(&place)) && made;
	if (x->primitive->sleeps)
		let_sleep(run, x, node);
	free(node);
	return made;
}

static bool consistent(struct contest *x)
{
	bool right = true;

	for (u32 i = 0; i < x->lines; i++) {
		right = x->primitive->consistent(x->state[i], x->done) && right;
		x->primitive->destroy(x->state[i]);
	}
	return right;
}

static int contest(struct run *run, const struct primitive *primitive, double hold_ns,
		   double work_ns, double cycles, double lines)
{
	u32 n = run->model->nr_cpus;
	struct contest x = { .model = run->model, .primitive = primitive, .lines = (u32)lines };
	bool right;

	if (hold_ns > 0 && !primitive->holds)
		return run_fail(run, "this operation has no hold time: hold_ns must be 0");
	/* Half of the code is between acquire and release, if an operation has these. */
	x.code = model_cycles(run->model, primitive->holds ? cycles / 2 : cycles);
	x.hold = (u64)(hold_ns * 1000) + (primitive->holds ? x.code : 0);
	x.work = (u64)(work_ns * 1000);
	x.warm_up = (u64)run_param(run, "warm_up_ops") * n;
	x.measured = (u64)run_param(run, "measured_ops") * n;
	if (!x.warm_up || !x.measured)
		return run_fail(run, "warm_up_ops and measured_ops must be at least 1");
	if (!x.lines || x.lines > MAX_LINES)
		return run_fail(run, "lines must be from 1 to 64");
	x.ops = calloc(n, sizeof(*x.ops));
	if (!x.ops || !create(run, &x)) {
		free(x.ops);
		return run_fail(run, "the machine has no shard plan, or memory is short");
	}
	for (u32 i = 0; i < n; i++)
		sim_spawn(i, body, &x, i);
	run->simulated = sim_run();
	right = consistent(&x);
	if (primitive->sleeps)
		sim_futex_end();
	if (right)
		report(run, &x, n);
	free(x.ops);
	return right ? 0 : run_fail(run, "an operation was lost");
}

static int execute(struct run *run)
{
	sim_relax_takes(model_cycles(run->model, run_param(run, "pause_cycles")));
	return contest(run, primitive_find(run->variant), run_param(run, "hold_ns"),
		       run_param(run, "work_ns"),
		       run_param(run, "instructions") / run_param(run, "instructions_per_cycle"),
		       run_param(run, "lines"));
}

#define NAME(id, name) name,

static const char *const variants[] = { PRIMITIVES(NAME) NULL };
static const char *const params[] = { "warm_up_ops",
				      "measured_ops",
				      "hold_ns",
				      "work_ns",
				      "pause_cycles",
				      "instructions",
				      "instructions_per_cycle",
				      "lines",
				      "syscall_ns",
				      "futex_wait_ns",
				      "futex_wake_ns",
				      "schedule_ns",
				      "context_switch_ns",
				      "queue_ns",
				      "wake_ns",
				      "ipi_send_ns",
				      "ipi_travel_ns",
				      "irq_ns",
				      "idle_exit_ns",
				      NULL };

extern const struct experiment primitives_experiment, atomic_inc;
const struct experiment primitives_experiment = {
	.name = "primitives",
	.variants = variants,
	.params = params,
	.execute = execute,
};

static int execute_inc(struct run *run)
{
	bool sharded = !strcmp(run->variant, "sharded");

	return contest(run, primitive_find(sharded ? "sharded-counter" : "atomic-inc"), 0, 0, 0, 1);
}

static const char *const inc_variants[] = { "atomic", "sharded", NULL };
static const char *const inc_params[] = { "warm_up_ops", "measured_ops", NULL };

const struct experiment atomic_inc = {
	.name = "atomic-inc",
	.variants = inc_variants,
	.params = inc_params,
	.execute = execute_inc,
};
