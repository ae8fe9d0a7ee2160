// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Compares every kind of cache-aware scheduling's scan with sums over an array of all CPUs, or of
 * the CPUs of the nodes that the scan must read. A mask of visited CPUs contains the CPUs with a
 * share and maybe others. A scan of the mask prefers the same cache as a scan of all CPUs. Three
 * processes share the CPUs, so shares are parts of a whole.
 */
#include "scan.h"
#include "shapes.h"
#include "test.h"

#define PROCESSES 3u

static u64 seed;
static u32 left; /* CPUs that left a mask */

struct runtime {
	u64 ns;
	u32 epoch;
};

struct naive {
	const struct shard_plan *plan;
	struct runtime *queue;
	struct runtime *record[PROCESSES];
	bool *in[PROCESSES]; /* the CPU is in the process's set */
	s32 preferred[PROCESSES];
};

static u64 decayed(const struct runtime *r, u32 epoch)
{
	u64 ns = r->ns;

	for (u32 i = r->epoch; i != epoch && ns; i++)
		ns /= 2;
	return ns;
}

static void add(struct runtime *r, u32 epoch, u64 ns)
{
	r->ns = decayed(r, epoch) + ns;
	r->epoch = epoch;
}

static s32 node_of(const struct shard_plan *plan, u32 cpu)
{
	return plan->shard[plan->slot[cpu].shard].node;
}

static bool in_node_of_llc(const struct shard_plan *plan, u32 cpu, s32 llc)
{
	for (u32 s = 0; s < plan->nr_shards; s++)
		if ((s32)plan->shard[s].llc == llc)
			return node_of(plan, cpu) == plan->shard[s].node;
	return false;
}

/* Does the scan read the CPU? */
static bool looks(const struct naive *m, const struct scan_ops *ops, u32 p, s32 home, u32 from,
		  u32 cpu)
{
	if (ops == &scan_linux73_mask)
		return m->in[p][cpu];
	return ops == &scan_full || home < 0 || node_of(m->plan, cpu) == home ||
	       node_of(m->plan, cpu) == node_of(m->plan, from) ||
	       in_node_of_llc(m->plan, cpu, m->preferred[p]);
}

static void check_scan(struct naive *m, const struct scan_ops *ops, struct scan_process *process,
		       u32 p, s32 home, u32 from, u32 epoch)
{
	const struct shard_plan *plan = m->plan;
	u64 *sum = calloc(plan->nr_llcs, sizeof(*sum)), present;
	struct scan_result r;
	u32 length = 0;
	s32 best = -1;

	CHECK(sum);
	for (u32 i = 0; i < plan->nr_possible; i++) {
		u32 cpu = plan->idx_to_cpu[i];
		struct runtime *rec = &m->record[p][cpu];
		u64 mine = decayed(rec, epoch), all = decayed(&m->queue[cpu], epoch);
		u64 part = mine * SCAN_SCALE / (all + 1);

		if (looks(m, ops, p, home, from, cpu)) {
			sum[plan->shard[plan->slot[cpu].shard].llc] += part;
			length++;
			if (ops == &scan_linux73_mask && !part) {
				m->in[p][cpu] = false;
				left++;
			}
		} else if (ops == &scan_linux73_mask) {
			CHECK_EQ(part, 0); /* so that sums are equal to those over all CPUs */
		}
	}
	for (u32 llc = 0; llc < plan->nr_llcs; llc++)
		if (sum[llc] > (best < 0 ? 0 : sum[best]))
			best = (s32)llc;
	present = m->preferred[p] < 0 ? 0 : sum[m->preferred[p]];
	if (best >= 0 && sum[best] > 2 * present)
		m->preferred[p] = best;
	CHECK(ops->scan(process, from, epoch, &r));
	CHECK_EQ(r.length, length);
	CHECK_EQ(r.preferred, m->preferred[p]);
	CHECK(!ops->due(process, epoch));
	CHECK(!ops->scan(process, from, epoch, &r));
	free(sum);
}

static void run(const struct shape *shape, const struct scan_ops *ops, bool homes)
{
	struct shard_plan *plan = shape_plan(shape);
	unsigned long online[TEST_MAX_WORDS];
	struct scan_process *process[PROCESSES];
	struct naive m = { .plan = plan };
	struct scan_machine *machine;
	u64 random = seed;
	u32 epoch = 100;

	memset(online, 0xff, sizeof(online));
	test_state.shape = shape->name;
	machine = ops->create(plan, online, PROCESSES);
	CHECK(machine);
	m.queue = calloc(plan->nr_cpus, sizeof(*m.queue));
	for (u32 p = 0; p < PROCESSES; p++) {
		process[p] = ops->process(machine, homes ? plan->shard[0].node : -1, epoch - 1);
		m.record[p] = calloc(plan->nr_cpus, sizeof(*m.record[p]));
		m.in[p] = calloc(plan->nr_cpus, sizeof(*m.in[p]));
		m.preferred[p] = -1;
		CHECK(process[p] && m.record[p] && m.in[p]);
	}
	for (test_state.step = 0; test_state.step < 2000; test_state.step++) {
		u32 p = test_below(&random, PROCESSES);
		u32 cpu = plan->idx_to_cpu[test_below(&random, plan->nr_possible)];

		if (test_below(&random, 10)) {
			u64 ns = 1 + test_below(&random, 100000);

			/* mostly near the process's own place, so that a preference exists */
			if (test_below(&random, 4))
				cpu = plan->idx_to_cpu[(p * 17 + test_below(&random, 6)) %
						       plan->nr_possible];
			ops->account(process[p], cpu, epoch, ns);
			m.in[p][cpu] = true;
			add(&m.queue[cpu], epoch, ns);
			add(&m.record[p][cpu], epoch, ns);
		} else if (test_below(&random, 2)) {
			epoch++;
		} else if (!test_below(&random, 8)) {
			ops->fork(process[p]);
			memset(m.record[p], 0, plan->nr_cpus * sizeof(*m.record[p]));
			memset(m.in[p], 0, plan->nr_cpus * sizeof(*m.in[p]));
		} else if (ops->due(process[p], epoch)) {
			check_scan(&m, ops, process[p], p, homes ? plan->shard[0].node : -1, cpu,
				   epoch);
		}
	}
	for (u32 p = 0; p < PROCESSES; p++) {
		CHECK(ops->bytes(process[p]) > 0);
		ops->end(process[p]);
		free(m.record[p]);
		free(m.in[p]);
	}
	free(m.queue);
	ops->destroy(machine);
	shard_plan_free(plan);
}

static void all(const struct scan_ops *ops, bool homes)
{
	test_state.seed = seed;
	for (u32 i = 0; i < nr_shapes; i++)
		run(&shapes[i], ops, homes);
}

static void full(void)
{
	all(&scan_full, true);
}

static void node_with_a_home(void)
{
	all(&scan_node, true);
}

static void node_without_a_home_is_full(void)
{
	all(&scan_node, false);
}

static void records_may_start_at_epoch_0(void)
{
	all(&scan_linux73_fork, true);
}

static void mask_is_full(void)
{
	all(&scan_linux73_mask, true);
	CHECK(left);
}

int main(int argc, char **argv)
{
	seed = test_seed(argc, argv);
	RUN(full);
	RUN(node_with_a_home);
	RUN(node_without_a_home_is_full);
	RUN(records_may_start_at_epoch_0);
	RUN(mask_is_full);
	return test_done();
}
