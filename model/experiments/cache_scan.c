// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Runs the scan of cache-aware scheduling for the cache in which a process runs most. The figures
 * show how many CPUs a scan reads, and what it costs.
 *
 *   cycle_share           time of scans / (time of scans and accounting + kernel_share x run time
 *                         of processes): cycles in the kernel, as `perf top -e cycles:k` counts
 *   cycles_per_scan       from the claim of the scan to its end, with every wait for a line
 *   cycles_per_fork       work of fork and exec for the scan, without allocation; 0: no forks
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "cache_scan.h"
#include "machine.h"
#include "rd.h"
#include "report_types.h"

static u64 us(const struct run *run, const char *name)
{
	return (u64)(run_param(run, name) * 1e6);
}

static int read_params(struct cs *cs, struct run *run)
{
	cs->epoch_ps = us(run, "epoch_us");
	cs->tick_ps = us(run, "tick_us");
	cs->slice_ps = us(run, "slice_us");
	cs->wake_ps = us(run, "wake_us");
	cs->run_ps = us(run, "run_us");
	cs->peer_run_ps = us(run, "peer_run_us");
	cs->pause_ps = us(run, "pause_us");
	cs->begin = us(run, "warm_up_us");
	cs->end = cs->begin + us(run, "measured_us");
	cs->elsewhere = run_param(run, "wake_elsewhere");
	cs->forks = run_param(run, "forks_per_tick");
	if (!cs->epoch_ps || !cs->tick_ps || !cs->slice_ps || cs->end == cs->begin)
		return run_fail(run, "epoch_us, tick_us, slice_us and measured_us must be more "
				     "than 0");
	if (run_param(run, "processes") < 1)
		return run_fail(run, "processes must be at least 1");
	return 0;
}

/* Simulated CPUs by LLC, LLCs in topology order. */
static void group(struct cs *cs)
{
	const struct model *model = cs->run->model;
	const struct shard_plan *plan = cs->plan;
	u32 n = model->nr_cpus, last = UINT32_MAX;

	for (u32 i = 0; i < n; i++)
		cs->online[model->cpu[i].number / 64] |= 1ul << model->cpu[i].number % 64;
	for (u32 idx = 0, out = 0; idx < plan->nr_possible; idx++) {
		u32 number = plan->idx_to_cpu[idx];
		u32 llc = plan->shard[plan->slot[number].shard].llc;

		for (u32 i = 0; i < n; i++) {
			if (model->cpu[i].number != number)
				continue;
			if (llc != last)
				cs->llc_first[cs->nr_llcs++] = out;
			last = llc;
			cs->llc_cpus[out++] = i;
		}
	}
	cs->llc_first[cs->nr_llcs] = n;
}

static int create(struct cs *cs, struct run *run)
{
	const struct shard_plan_opts opts = { .cap = run->cap };
	u32 n = run->model->nr_cpus;
	struct shard_plan *plan;

	arena_label("shard plan", NULL);
	if (shard_plan_build(&plan, &run->machine->topo, &opts))
		return run_fail(run, "the machine has no shard plan");
	cs->plan = plan;
	cs->nr_cpus = n;
	cs->online = calloc((plan->nr_cpus + 63) / 64, sizeof(*cs->online));
	cs->cpu = calloc(n, sizeof(*cs->cpu));
	cs->llc_cpus = calloc(n, sizeof(*cs->llc_cpus));
	cs->llc_first = calloc(n + 1, sizeof(*cs->llc_first));
	if (!cs->online || !cs->cpu || !cs->llc_cpus || !cs->llc_first)
		return run_fail(run, "out of memory");
	group(cs);
	return 0;
}

/* The node of a process's thread, which touched the memory first. */
static s32 home_of(const struct cs *cs, const struct cs_process *p)
{
	u32 number = cs->run->model->cpu[p->cpu].number;

	return cs->plan->shard[cs->plan->slot[number].shard].node;
}

static int create_scans(struct cs *cs)
{
	rd_label_hook = arena_label;
	cs->machine = cs->ops->create(cs->plan, cs->online,
				      cs->nr_processes + (cs->forks > 0 ? cs->nr_cpus : 0));
	if (!cs->machine)
		return run_fail(cs->run, "out of memory");
	for (u32 i = 0; i < cs->nr_processes; i++) {
		struct cs_process *p = &cs->process[i];

		p->scan = cs->ops->process(cs->machine, home_of(cs, p), cs_epoch(cs, 0));
		if (!p->scan)
			return run_fail(cs->run, "out of memory");
	}
	cs->forked = calloc(cs->nr_cpus, sizeof(*cs->forked));
	if (!cs->forked)
		return run_fail(cs->run, "out of memory");
	for (u32 i = 0; cs->forks > 0 && i < cs->nr_cpus; i++) {
		cs->forked[i] = cs->ops->process(cs->machine, -1, cs_epoch(cs, 0));
		if (!cs->forked[i])
			return run_fail(cs->run, "out of memory");
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const u32 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static int report(struct cs *cs)
{
	struct cs_counts *n = &cs->counts;
	struct run *run = cs->run;
	double window = (double)(cs->end - cs->begin), kernel, sum = 0;
	u64 middle = n->scans / 2, last_percent = n->scans * 99 / 100;
	size_t bytes = 0;

	if (!n->scans)
		return run_fail(run, "no CPU scanned: measured_us is too short");
	qsort(n->lengths, n->scans, sizeof(*n->lengths), by_value);
	for (u64 i = 0; i < n->scans; i++)
		sum += n->lengths[i];
	for (u32 i = 0; i < cs->nr_processes; i++) {
		size_t own = cs->ops->bytes(cs->process[i].scan);

		if (own > bytes)
			bytes = own;
	}
	kernel = (double)n->busy * run_param(run, "kernel_share") + (double)n->scan_time +
		 (double)n->account_time;
	run_report(run, "scan_length_p50", n->lengths[middle]);
	run_report(run, "scan_length_p99", n->lengths[last_percent]);
	run_report(run, "scan_length_max", n->lengths[n->scans - 1]);
	run_report(run, "scan_length_mean", sum / (double)n->scans);
	run_report(run, "cycles_per_scan",
		   run_cycles(run, (double)n->scan_time / (double)n->scans));
	run_report(run, "cycle_share", ratio((double)n->scan_time, kernel));
	run_report(run, "account_share", ratio((double)n->account_time, kernel));
	run_report(run, "cycles_per_account",
		   run_cycles(run, ratio((double)n->account_time, (double)n->accounts)));
	run_report(run, "cycles_per_fork",
		   run_cycles(run, ratio((double)n->fork_time, (double)n->forks)));
	run_report(run, "forks", (double)n->forks);
	run_report(run, "bytes_per_process", (double)bytes);
	run_report(run, "scans", (double)n->scans);
	run_report(run, "scans_per_second", (double)n->scans / window * 1e12);
	run_report(run, "scans_per_process_second",
		   (double)n->scans / window * 1e12 / cs->nr_processes);
	run_report(run, "busy_share", (double)n->busy / window / cs->nr_cpus);
	return 0;
}

static void clean_up(struct cs *cs)
{
	for (u32 i = 0; cs->cpu && i < cs->nr_cpus; i++)
		free((void *)cs->cpu[i].timer);
	free((void *)cs->forked);
	free(cs->counts.lengths);
	free(cs->process);
	free(cs->online);
	free(cs->cpu);
	free(cs->llc_cpus);
	free(cs->llc_first);
}

static int run_all(struct cs *cs, struct run *run)
{
	if (read_params(cs, run) || create(cs, run) || cs_load(cs) || create_scans(cs))
		return -1;
	for (u32 i = 0; i < cs->nr_cpus; i++)
		sim_spawn(i, cs_sched_body, cs, 0);
	run->simulated = sim_run();
	return report(cs);
}

static int execute(struct run *run)
{
	struct cs cs = { .run = run };
	int failed;

	for (const struct scan_ops *const *ops = scan_ways; *ops; ops++)
		if (!strcmp((*ops)->name, run->variant))
			cs.ops = *ops;
	failed = run_all(&cs, run);
	clean_up(&cs);
	return failed;
}

static const char *const variants[] = { "full",		"node",		"linux73",
					"linux73-mask", "linux73-fork", NULL };
static const char *const params[] = {
	"processes",  "run_us",	     "peer_run_us",    "pause_us", "wake_elsewhere",
	"epoch_us",   "tick_us",     "slice_us",       "wake_us",  "kernel_share",
	"warm_up_us", "measured_us", "forks_per_tick", NULL
};

extern const struct experiment cache_scan;
const struct experiment cache_scan = {
	.name = "cache-scan",
	.variants = variants,
	.params = params,
	.execute = execute,
};
