// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * schedshard's scan: core/visited.c for the process, one word per run queue, no lock.
 *
 * The blocks that a scan removed are kept until the next scan of the process, at least an epoch
 * later. That is the grace period here: no accounting takes that long. A kernel under a hypervisor
 * cannot rely on that, and needs RCU.
 */
#include "rd.h"
#include "report_types.h"
#include "scan.h"
#include "visited.h"

struct scan_machine {
	const struct shard_plan *plan;
	struct visited_pool *pool;
	u64 **queue; /* by CPU number: the run queue's runtime, on its line */
};

struct scan_process {
	struct scan_machine *machine;
	struct visited *visited;
	u64 preferred port_cacheline_aligned; /* LLC + 1 */
	struct visited_block *limbo;
};

static void destroy(struct scan_machine *m)
{
	u32 n = m->plan->nr_cpus;

	visited_pool_free(m->pool);
	for (u32 cpu = 0; m->queue && cpu < n; cpu++)
		port_free(m->queue[cpu], PORT_CACHELINE);
	port_free((void *)m->queue, n * sizeof(*m->queue));
	port_free(m, sizeof(*m));
}

static bool fill(struct scan_machine *m)
{
	const struct shard_plan *plan = m->plan;

	rd_label("tables by CPU", NULL);
	m->queue = (u64 **)port_alloc(plan->nr_cpus * sizeof(*m->queue), -1);
	if (!m->queue)
		return false;
	rd_label("run queue", NULL);
	for (u32 cpu = 0; cpu < plan->nr_cpus; cpu++) {
		if (!plan->slot[cpu].possible)
			continue;
		m->queue[cpu] = port_alloc(PORT_CACHELINE, plan->shard[plan->slot[cpu].shard].node);
		if (!m->queue[cpu])
			return false;
	}
	rd_label("visited block", "struct visited_block");
	m->pool = visited_pool_alloc(plan);
	return m->pool;
}

static struct scan_machine *create(const struct shard_plan *plan, const unsigned long *online,
				   u32 processes)
{
	struct scan_machine *m;

	rd_label("scans", NULL);
	m = port_alloc(sizeof(*m), -1);
	if (!m)
		return NULL;
	m->plan = plan;
	if (fill(m))
		return m;
	destroy(m);
	return NULL;
}

static struct scan_process *process(struct scan_machine *m, s32 home, u32 epoch)
{
	struct scan_process *p;

	rd_label("process", NULL);
	p = port_alloc(sizeof(*p), home);
	rd_label("visited", "struct visited");
	if (p)
		p->visited = visited_alloc(m->pool, home, epoch);
	rd_label("visited block", "struct visited_block");
	if (!p || !p->visited) {
		port_free(p, sizeof(*p));
		return NULL;
	}
	p->machine = m;
	return p;
}

static void end(struct scan_process *p)
{
	visited_blocks_free(p->limbo);
	visited_free(p->visited);
	port_free(p, sizeof(*p));
}

static bool account(struct scan_process *p, u32 cpu, u32 epoch, u64 ns)
{
	return visited_account(p->visited, p->machine->queue[cpu], cpu, epoch, ns);
}

static bool due(const struct scan_process *p, u32 epoch)
{
	return visited_scan_due(p->visited, epoch);
}

static bool scan(struct scan_process *p, u32 cpu, u32 epoch, s32 timeout,
		 struct scan_result *result)
{
	const struct shard_plan *plan = p->machine->plan;
	struct visited_block *out;
	struct visited_scan s;
	u64 word;
	u32 at;

	if (!visited_scan_begin(&s, p->visited, epoch, timeout))
		return false;
	if (p->limbo) {
		visited_blocks_free(p->limbo);
		p->limbo = NULL;
	}
	if (visited_pool_low(p->machine->pool, cpu))
		visited_pool_fill(p->machine->pool, cpu);
	occupancy_begin(&result->sums, (s32)READ_ONCE(p->preferred) - 1);
	result->runtime = 0;
	while (visited_scan_next(&s, &at, &word)) {
		result->runtime += occupancy_decayed(word, epoch);
		occupancy_cpu(&result->sums, (s32)plan->shard[plan->slot[at].shard].llc,
			      occupancy_share(word, READ_ONCE(*p->machine->queue[at]), epoch));
	}
	result->length = s.looked;
	result->preferred = occupancy_end(&result->sums);
	if (result->preferred != result->sums.present)
		WRITE_ONCE(p->preferred, (u32)(result->preferred + 1));
	out = visited_scan_end(&s);
	if (out)
		p->limbo = out;
	return true;
}

static size_t bytes(const struct scan_process *p)
{
	return sizeof(p->preferred) + visited_bytes(p->visited);
}

const struct scan_ops scan_visited = {
	.name = "visited",
	.create = create,
	.destroy = destroy,
	.process = process,
	.end = end,
	.account = account,
	.due = due,
	.scan = scan,
	.bytes = bytes,
};
