// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Linux's scan since 2026. A scan takes the lock of every CPU's run queue in turn, and updates run
 * queue and record (scan_records.h). So it writes both lines of every CPU, which is its main cost.
 *
 * Linux 7.3 also reads which thread runs on each CPU, on another line of the run queue. The read of
 * that thread's own line is not simulated. "linux73-fork" leaves each record's epoch at 0, so a
 * fork reads no run queue.
 */
#include "scan_records.h"

static bool is_online(const struct scan_machine *m, u32 cpu)
{
	return m->online[cpu / 64] >> cpu % 64 & 1;
}

static s32 llc_of(const struct scan_machine *m, u32 cpu)
{
	return (s32)m->plan->shard[m->plan->slot[cpu].shard].llc;
}

static struct scan_process *process_node(struct scan_machine *m, s32 home, u32 epoch)
{
	struct scan_process *p = records_process(m, home, epoch);

	if (p)
		p->by_node = true;
	return p;
}

static struct scan_process *process_linux73(struct scan_machine *m, s32 home, u32 epoch)
{
	struct scan_process *p = process_node(m, home, epoch);

	if (p)
		p->counts_running = true;
	return p;
}

/* Is the CPU on a node to which the scan is limited? */
static bool in_reach(const struct scan_process *p, u32 cpu, u32 from_cpu, s32 preferred_node)
{
	s32 node = records_node(p->machine, cpu);

	return !p->by_node || p->home < 0 || node == p->home || node == preferred_node ||
	       node == records_node(p->machine, from_cpu);
}

static s32 node_of_llc(const struct shard_plan *plan, s32 llc)
{
	for (u32 i = 0; i < plan->nr_shards; i++)
		if ((s32)plan->shard[i].llc == llc)
			return plan->shard[i].node;
	return -1;
}

static bool scan(struct scan_process *p, u32 cpu, u32 epoch, struct scan_result *result)
{
	const struct scan_machine *m = p->machine;
	s32 present, preferred_node;
	u32 running = 0;

	if (!records_begin(p, epoch, &present, result))
		return false;
	preferred_node = node_of_llc(m->plan, present);
	scan_sums_begin(&result->sums, present);
	for (u32 i = 0; i < m->plan->nr_possible; i++) {
		u32 at = m->plan->idx_to_cpu[i];

		if (!is_online(m, at) || !in_reach(p, at, cpu, preferred_node))
			continue;
		result->length++;
		scan_sums_add(&result->sums, llc_of(m, at), records_share(p, at, epoch));
		if (p->counts_running)
			running += READ_ONCE(m->curr[at]->process) == p->number + 1;
	}
	if (p->counts_running)
		WRITE_ONCE(p->mm->running, running);
	records_prefer(p, result);
	return true;
}

#define WAY(name_, process_, fork_)                                                         \
	{                                                                                   \
		.name = name_, .create = records_create, .destroy = records_destroy,        \
		.process = process_, .end = records_end, .fork = fork_, .run = records_run, \
		.account = records_account, .due = records_due, .scan = scan,               \
		.bytes = records_bytes,                                                     \
	}

const struct scan_ops scan_full = WAY("full", records_process, records_fork);
const struct scan_ops scan_node = WAY("node", process_node, records_fork);
const struct scan_ops scan_linux73 = WAY("linux73", process_linux73, records_fork);
const struct scan_ops scan_linux73_fork = WAY("linux73-fork", process_linux73, records_zero);

const struct scan_ops *const scan_ways[] = { &scan_full,	 &scan_node,	     &scan_linux73,
					     &scan_linux73_mask, &scan_linux73_fork, NULL };
