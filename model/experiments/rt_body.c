// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Kernel share: time in the kernel / (kernel + user). A profiler that counts cycles counts none
 * while a CPU is halted, so neither contains idle time. The share of all time is a separate figure.
 *
 * Cycles per wake-up: all time inside the layout's operations, divided by wake-ups. So the figure
 * depends both on how often a layout needs an operation and on its cost.
 */
#include "rt_body.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "machine.h"
#include "rd_layouts.h"
#include "report_types.h"

#define NAME(layout, name) name,

const char *const rt_variants[] = { RD_LAYOUTS(NAME) "partition", NULL };
const char *const rt_variants_global[] = { RD_LAYOUTS(NAME) NULL };

static u64 ns(const struct run *run, const char *name)
{
	return (u64)(run_param(run, name) * 1000);
}

struct rt *rt_body_create(struct run *run)
{
	struct rt_costs costs = { .syscall = ns(run, "syscall_ns"),
				  .futex = ns(run, "futex_ns"),
				  .schedule = ns(run, "schedule_ns"),
				  .context_switch = ns(run, "context_switch_ns"),
				  .queue = ns(run, "queue_ns"),
				  .wake = ns(run, "wake_ns"),
				  .ipi_send = ns(run, "ipi_send_ns"),
				  .ipi_travel = ns(run, "ipi_travel_ns"),
				  .irq = ns(run, "irq_ns"),
				  .idle_exit = ns(run, "idle_exit_ns"),
				  .tick = ns(run, "tick_ns"),
				  .tick_period = rt_body_ps(run, "tick_us") };
	const char *layout = strcmp(run->variant, "partition") ? run->variant : "stock";
	struct rt *rt;

	if (!costs.tick_period || !rt_body_ps(run, "measured_us")) {
		run_fail(run, "tick_us and measured_us must be more than 0");
		return NULL;
	}
	rd_label_hook = arena_label;
	for (const struct rd_ops *const *ops = rd_layouts; *ops; ops++) {
		if (strcmp((*ops)->name, layout))
			continue;
		rt = rt_create(run->model, *ops, &costs, run->cap, run_param(run, "push_ipi") > 0);
		if (!rt)
			run_fail(run, "this machine does not fit the layout");
		return rt;
	}
	run_fail(run, "there is no such layout");
	return NULL;
}

struct rt_phase rt_body_phases(const struct run *run)
{
	u64 begin = rt_body_ps(run, "warm_up_us");

	return (struct rt_phase){ .begin = begin, .end = begin + rt_body_ps(run, "measured_us") };
}

bool rt_body_phase(struct rt_cpu *me, struct rt_phase *phase)
{
	if (!phase->on && sim_now() >= phase->begin) {
		phase->on = true;
		phase->begin = sim_now();
		rt_measure_from_here(me);
	}
	if (!phase->over && sim_now() >= phase->end) {
		phase->over = true;
		phase->end = sim_now();
		rt_stop(me);
	}
	return phase->on && !phase->over;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/* Modified lines found in other caches, summed over all lines: the totals of perf c2c. */
static void report_hitm(struct run *run)
{
	const struct stats *s = sim_stats();
	u64 local = 0, remote = 0;

	for (u32 i = 0; i < s->n; i++) {
		local += stats_record(s, i)->hitm_local;
		remote += stats_record(s, i)->hitm_remote;
	}
	run_report(run, "hitm_local", (double)local);
	run_report(run, "hitm_remote", (double)remote);
	run_report(run, "hitm_local_per_remote", ratio((double)local, (double)remote));
}

void rt_body_report(struct run *run, const struct rt *rt, const struct rt_phase *phase)
{
	struct rt_stats s = rt_stats(rt);
	double seconds = (double)(phase->end - phase->begin) * 1e-12;
	double user = (double)s.time[RT_USER], kernel = (double)s.time[RT_KERNEL];
	double all = user + kernel + (double)s.time[RT_HALTED];
	u64 shared = s.set_time + s.find_time + s.overload_time + s.pull_time + s.walk_time;

	run_report(run, "kernel_share", ratio(kernel, kernel + user));
	run_report(run, "kernel_share_of_all", ratio(kernel, all));
	run_report(run, "user_share", ratio(user, all));
	run_report(run, "idle_share", ratio((double)s.time[RT_HALTED], all));
	run_report(run, "wakeups_per_second", ratio((double)s.wakeups, seconds));
	run_report(run, "map_bytes", (double)rt_map_bytes(rt));
	run_report(run, "cycles_per_set",
		   run_cycles(run, ratio((double)s.set_time, (double)s.sets)));
	run_report(run, "cycles_per_find",
		   run_cycles(run, ratio((double)s.find_time, (double)s.finds)));
	run_report(run, "cycles_per_overload",
		   run_cycles(run, ratio((double)s.overload_time, 2 * (double)s.overloads)));
	run_report(run, "cycles_per_pull",
		   run_cycles(run, ratio((double)s.pull_time, (double)s.pulls)));
	run_report(run, "cycles_longest_find", run_cycles(run, (double)s.longest_find));
	run_report(run, "cycles_longest_pull", run_cycles(run, (double)s.longest_pull));
	run_report(run, "cycles_per_wakeup",
		   run_cycles(run, ratio((double)shared, (double)s.wakeups)));
	run_report(run, "sets_per_wakeup", ratio((double)s.sets, (double)s.wakeups));
	run_report(run, "finds_per_wakeup", ratio((double)s.finds, (double)s.wakeups));
	run_report(run, "found_share", ratio((double)s.found, (double)s.finds));
	run_report(run, "overloads_per_wakeup", ratio((double)s.overloads, (double)s.wakeups));
	run_report(run, "stacked_per_wakeup", ratio((double)s.stacked, (double)s.wakeups));
	run_report(run, "pulls_per_wakeup", ratio((double)s.pulls, (double)s.wakeups));
	run_report(run, "pulls_asked_share", ratio((double)s.pulls_asked, (double)s.pulls));
	run_report(run, "newidle_per_wakeup", ratio((double)s.newidle, (double)s.wakeups));
	run_report(run, "pushes_per_wakeup", ratio((double)s.pushes, (double)s.wakeups));
	run_report(run, "walks_per_second", ratio((double)s.walks, seconds));
	run_report(run, "walk_steps_per_second", ratio((double)s.steps, seconds));
	run_report(run, "pulled_per_second", ratio((double)s.pulled, seconds));
	run_report(run, "ipis_per_second", ratio((double)s.ipis, seconds));
	run_report(run, "migrations_per_second", ratio((double)s.migrations, seconds));
	run_report(run, "migrations_far_share",
		   ratio((double)s.migrations_far, (double)s.migrations));
	run_report(run, "switches_per_second", ratio((double)s.switches, seconds));
	report_hitm(run);
}

/* ---- groups of CPUs ---- */

struct place {
	s32 package, llc, core, thread;
	u32 cpu;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->package != y->package)
		return x->package < y->package ? -1 : 1;
	if (x->llc != y->llc)
		return x->llc < y->llc ? -1 : 1;
	if (x->core != y->core)
		return x->core < y->core ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

u32 *rt_body_groups(const struct run *run, u32 *size, u32 *n)
{
	u32 nr = run->model->nr_cpus, left = 0, out = 0, *cpus = calloc(nr, sizeof(*cpus));
	struct place *p = calloc(nr, sizeof(*p));

	if (!cpus || !p)
		abort();
	for (u32 i = 0; i < nr; i++) {
		u32 cpu = run->model->cpu[i].number;
		const struct shard_cpu *c = &run->machine->topo.cpu[cpu];

		p[i] = (struct place){ c->package, c->llc, c->core, c->thread, cpu };
	}
	qsort(p, nr, sizeof(*p), by_place);
	if (*size > nr)
		*size = nr;
	/* Full groups within each LLC come first; the remaining CPUs follow in order. */
	for (u32 i = 0; i < nr;) {
		u32 end = i, take;

		while (end < nr && p[end].llc == p[i].llc)
			end++;
		take = (end - i) / *size * *size;
		for (u32 k = i; k < i + take; k++)
			cpus[out++] = p[k].cpu;
		for (u32 k = i + take; k < end; k++)
			p[left++] = p[k];
		i = end;
	}
	for (u32 i = 0; i < left; i++)
		cpus[out++] = p[i].cpu;
	free(p);
	*n = nr / *size;
	return cpus;
}
