// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Where did a process run lately, and which cache should it prefer? Each CPU accounts its runtime.
 * A scan, once an epoch, reads only CPUs that accounted, and removes those that did not for five
 * epochs.
 */
#include "example.h"

#define TIMEOUT 5 /* epochs of 10 ms */
#define MS	1000000u

static u64 *queue; /* by CPU number: runtime of its run queue, of all processes */
static s32 preferred = -1;

static void scan(const struct shard_plan *plan, struct visited *v, u32 epoch)
{
	struct visited_scan s;
	struct occupancy sums;
	u64 runtime;
	u32 cpu;

	/* false: another thread scans, or has in this epoch */
	example_need(visited_scan_begin(&s, v, epoch, TIMEOUT), "not due");
	occupancy_begin(&sums, preferred);
	while (visited_scan_next(&s, &cpu, &runtime)) {
		s32 llc = (s32)plan->shard[plan->slot[cpu].shard].llc;

		occupancy_cpu(&sums, llc, occupancy_share(runtime, queue[cpu], epoch));
	}
	preferred = occupancy_end(&sums);
	printf("epoch %u: %u CPUs looked at, cache %d preferred, %zu bytes\n", epoch, s.looked,
	       preferred, visited_bytes(v));
	/* one thread: no reader can be using these any more; a kernel waits for a grace period */
	visited_blocks_free(visited_scan_end(&s));
}

int main(int argc, char **argv)
{
	struct shard_plan *plan = example_plan(argc, argv);
	struct visited_pool *pool = visited_pool_alloc(plan);
	struct visited *v = pool ? visited_alloc(pool, -1, 0) : NULL;
	u32 a = plan->shard_cpus[0][0], b = plan->shard_cpus[0][1];
	u32 far = plan->shard_cpus[plan->nr_shards - 1][0];

	queue = calloc(plan->nr_cpus, sizeof(*queue));
	example_need(v && queue, "out of memory");
	for (u32 epoch = 1; epoch <= 9; epoch++) {
		/* first on two CPUs of one cache, then on one of another */
		visited_account(v, &queue[epoch < 3 ? a : far], epoch < 3 ? a : far, epoch, 8 * MS);
		if (epoch < 3)
			visited_account(v, &queue[b], b, epoch, 4 * MS);
		/* other processes run there, too */
		queue[a] = occupancy_add(queue[a], epoch, 2 * MS);
		queue[b] = occupancy_add(queue[b], epoch, 2 * MS);
		scan(plan, v, epoch);
	}
	visited_free(v);
	visited_pool_free(pool);
	shard_plan_free(plan);
	free(queue);
	return 0;
}
