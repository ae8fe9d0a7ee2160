// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Runs hackbench on layouts of the nohz idle set. The figures are the costs of entry and exit, the
 * CPU that is picked as balancer, the length of its walk, and hackbench's throughput. A run begins
 * with fewer tasks than CPUs, and after a pause it has more.
 *
 * Variants differ only in the layout of the set and in the order of searches (model/layouts/idle/).
 * The rules of the scheduler (fair/) decide where tasks run. The lines that a sender and a receiver
 * share determine the cost of their distance.
 *
 * Shares are relative to the cycles that are not spent halted, as a profiler counts.
 */
#include <string.h>

#include "experiment.h"
#include "hackbench.h"
#include "machine.h"

/* One load: hackbench starts, warms up, is measured and ends. */
struct load {
	struct idle_run *run;
	struct hackbench bench;
	u64 start, from, until;	 /* planned */
	u64 began, ended;	 /* measured */
	struct fair_stats stats; /* between these */
	u64 most_picked;
	double llcs;
	bool wanted;
};

struct idle_run {
	struct run *run;
	struct fair *fair;
	struct load load[2];
	u32 at, forked;
	bool measured; /* a load was measured: the statistics of lines start there */
	u64 pause;
};

static u64 ps(const struct run *run, const char *name, double unit)
{
	return (u64)(run_param(run, name) * unit);
}

static void step(struct fair_cpu *me, void *arg)
{
	struct load *l = arg;
	u64 now = sim_now();

	if (!l->bench.on && now >= l->from) {
		l->bench.on = true;
		l->began = now;
		fair_count_from_here(me);
		if (!l->run->measured)
			sim_measure_from_here();
		l->run->measured = true;
	}
	if (!l->bench.over && now >= l->until) {
		l->bench.over = true;
		l->ended = now;
		l->stats = fair_stats(me);
		l->most_picked = fair_most_picked(l->run->fair);
		l->llcs = hackbench_llcs(&l->bench, l->run->run->model);
	}
}

/* The shell, which starts hackbench once per load. */
static void shell(struct fair_cpu *me, struct fair_thread *t)
{
	struct idle_run *x = t->arg;
	struct load *l = &x->load[x->at];

	if (x->at == 2) {
		fair_stop(me);
		fair_exit(me);
	} else if (!l->wanted) {
		x->at++;
		t->left = 1;
	} else if (sim_now() < l->start) {
		fair_sleep_until(me, l->start);
	} else if (x->forked < l->bench.nr_threads) {
		fair_fork(me, hackbench_thread(&l->bench, x->forked++));
		t->left = 1;
	} else {
		x->at++;
		x->forked = 0;
		fair_sleep_until(me, l->until + x->pause);
	}
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

enum figure {
	MESSAGES,
	SET,
	PER_ENTER,
	PER_EXIT,
	PER_TICK,
	ENTERS,
	KICKS,
	NEAR,
	MOST_PICKED,
	PER_WALK,
	CUT,
	IDLE_SHARE,
	LLCS,
	FIGURES
};

#define NAMES(load)                                                                           \
	{                                                                                     \
		load "_messages_per_second", load "_set_per_mille", load "_cycles_per_enter", \
			load "_cycles_per_exit", load "_cycles_per_tick",                     \
			load "_enters_per_second", load "_kicks_per_second",                  \
			load "_kicks_in_same_llc", load "_kicks_of_most_picked",              \
			load "_cpus_per_walk", load "_walks_cut", load "_idle_share",         \
			load "_llcs_per_group"                                                \
	}

static const char *const names[2][FIGURES] = { NAMES("under"), NAMES("over") };

static void report(struct run *run, const struct load *l, const char *const *name)
{
	const struct fair_stats *s = &l->stats;
	double seconds = (double)(l->ended - l->began) * 1e-12;
	double busy = (double)s->time[FAIR_USER] + (double)s->time[FAIR_KERNEL];
	double walks = (double)s->balances + (double)s->looks;
	double value[FIGURES] = {
		[MESSAGES] = (double)l->bench.received / seconds,
		[SET] = 1e3 * (double)(s->enter_time + s->exit_time + s->kick_time) / busy,
		[PER_ENTER] = run_cycles(run, ratio((double)s->enter_time, (double)s->enters)),
		[PER_EXIT] = run_cycles(run, ratio((double)s->exit_time, (double)s->exits)),
		[PER_TICK] = run_cycles(run, ratio((double)s->kick_time, (double)s->ticks)),
		[ENTERS] = (double)s->enters / seconds,
		[KICKS] = (double)s->kicks / seconds,
		[NEAR] = ratio((double)s->near, (double)s->kicks),
		[MOST_PICKED] = ratio((double)l->most_picked, (double)s->kicks),
		[PER_WALK] = ratio((double)s->walked, walks),
		[CUT] = ratio((double)s->cut, walks),
		[IDLE_SHARE] = (double)s->time[FAIR_HALTED] / (busy + (double)s->time[FAIR_HALTED]),
		[LLCS] = l->llcs,
	};

	for (int i = 0; i < FIGURES; i++)
		run_report(run, name[i], value[i]);
}

static struct fair *create(struct run *run)
{
	struct fair_costs costs = { .syscall = ps(run, "syscall_ns", 1e3),
				    .message = ps(run, "message_ns", 1e3),
				    .schedule = ps(run, "schedule_ns", 1e3),
				    .context_switch = ps(run, "context_switch_ns", 1e3),
				    .queue = ps(run, "queue_ns", 1e3),
				    .wake = ps(run, "wake_ns", 1e3),
				    .fork = ps(run, "fork_ns", 1e3),
				    .look = ps(run, "look_ns", 1e3),
				    .ipi_send = ps(run, "ipi_send_ns", 1e3),
				    .ipi_travel = ps(run, "ipi_travel_ns", 1e3),
				    .irq = ps(run, "irq_ns", 1e3),
				    .idle_exit = ps(run, "idle_exit_ns", 1e3),
				    .tick = ps(run, "tick_ns", 1e3),
				    .tick_period = ps(run, "tick_us", 1e6),
				    .slice = ps(run, "slice_us", 1e6),
				    .migration = ps(run, "migration_cost_us", 1e6) };

	for (const struct idle_ops *const *ops = idle_layouts; *ops; ops++)
		if (!strcmp((*ops)->name, run->variant))
			return fair_create(run->model, *ops, &costs, run->cap);
	return NULL;
}

/* Set when a load starts, and its number of tasks. */
static void plan(struct idle_run *x, struct load *l, u64 start, const char *const *param)
{
	struct run *run = x->run;
	u32 tasks = (u32)(run_param(run, param[0]) * run->model->nr_cpus);

	l->run = x;
	l->bench.step = step;
	l->bench.arg = l;
	l->start = start;
	l->from = start + ps(run, param[1], 1e6);
	l->until = l->from + ps(run, param[2], 1e6);
	l->wanted = l->until > l->from;
	if (!l->wanted) {
		l->until = start;
		return;
	}
	hackbench_new(&l->bench, x->fair, tasks < 2 ? 2 : tasks, (u32)run_param(run, "group_pairs"),
		      (u32)run_param(run, "queue_messages"), ps(run, "user_ns", 1e3));
}

static const char *const load_params[2][3] = {
	{ "under_tasks_per_cpu", "under_warm_up_us", "under_measured_us" },
	{ "over_tasks_per_cpu", "over_warm_up_us", "over_measured_us" },
};

static int execute(struct run *run)
{
	struct idle_run x = { .run = run, .pause = ps(run, "pause_us", 1e6) };
	u64 start = 0;
	bool missed = false;

	if (run_param(run, "tick_us") < 1 || run_param(run, "user_ns") <= 0 ||
	    run_param(run, "group_pairs") < 1 || run_param(run, "queue_messages") < 1)
		return run_fail(run,
				"tick_us, user_ns, group_pairs and queue_messages must be more "
				"than 0");
	x.fair = create(run);
	if (!x.fair)
		return run_fail(run, "this machine does not fit the layout");
	for (int i = 0; i < 2; i++) {
		plan(&x, &x.load[i], start, load_params[i]);
		start = x.load[i].until + x.pause;
	}
	run->simulated = fair_run(x.fair, fair_thread_new(x.fair, shell, &x));
	run_report(run, "bytes", (double)fair_idle_bytes(x.fair));
	for (int i = 0; i < 2; i++) {
		if (!x.load[i].wanted)
			continue;
		missed |= !x.load[i].bench.received;
		if (!missed)
			report(run, &x.load[i], names[i]);
		hackbench_free(&x.load[i].bench);
	}
	fair_free(x.fair);
	if (missed)
		return run_fail(run,
				"no message was received: the time that is measured is too short");
	return 0;
}

static const char *const variants[] = { "stock",     "no-count", "flags", "linux-7.3",
					"sbm-first", "sbm-wrap", "slots", NULL };
static const char *const params[] = { "under_tasks_per_cpu",
				      "under_warm_up_us",
				      "under_measured_us",
				      "over_tasks_per_cpu",
				      "over_warm_up_us",
				      "over_measured_us",
				      "pause_us",
				      "group_pairs",
				      "queue_messages",
				      "user_ns",
				      "syscall_ns",
				      "message_ns",
				      "schedule_ns",
				      "context_switch_ns",
				      "queue_ns",
				      "wake_ns",
				      "fork_ns",
				      "look_ns",
				      "ipi_send_ns",
				      "ipi_travel_ns",
				      "irq_ns",
				      "idle_exit_ns",
				      "tick_ns",
				      "tick_us",
				      "slice_us",
				      "migration_cost_us",
				      NULL };

/* The objects around the idle set; hackbench's sockets and tasks have far more lines. */
static const char *const objects[] = { "nohz", "idle_cpus_mask", "sched_domain_shared",
				       "root_domain.overloaded", NULL };

extern const struct experiment idle_mask;
const struct experiment idle_mask = {
	.name = "idle-mask",
	.variants = variants,
	.params = params,
	.objects = objects,
	.execute = execute,
};
