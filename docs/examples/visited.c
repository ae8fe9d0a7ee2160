// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Where did a process run lately, and which cache should it prefer? Each CPU accounts its runtime.
 * A scan, once per epoch, reads only CPUs that accounted runtime, and removes those that did not
 * for five epochs.
 */
#include "example.h"

#define TIMEOUT 5 /* epochs of 10 ms */
#define MS	1000000u

static uint64_t *queue; /* by CPU number: runtime of its run queue, of all processes */
static int32_t preferred = -1;

static void scan(const struct schedshard_plan *plan, struct schedshard_visited *v, uint32_t epoch)
{
	struct schedshard_visited_scan s;
	struct schedshard_occupancy sums;
	uint64_t runtime;
	uint32_t cpu;

	/* false: another thread is scanning, or has scanned in this epoch */
	example_need(schedshard_visited_scan_begin(&s, v, epoch, TIMEOUT), "not due");
	schedshard_occupancy_begin(&sums, preferred);
	while (schedshard_visited_scan_next(&s, &cpu, &runtime)) {
		int32_t llc = (int32_t)plan->shard[plan->slot[cpu].shard].llc;

		schedshard_occupancy_cpu(&sums, llc,
					 schedshard_occupancy_share(runtime, queue[cpu], epoch));
	}
	preferred = schedshard_occupancy_end(&sums);
	printf("epoch %u: %u CPUs looked at, cache %d preferred, %zu bytes\n", epoch, s.looked,
	       preferred, schedshard_visited_bytes(v));
	/* one thread: no reader can be using these any more; a kernel waits for a grace period */
	schedshard_visited_blocks_free(schedshard_visited_scan_end(&s));
}

int main(int argc, char **argv)
{
	struct schedshard_plan *plan = example_plan(argc, argv);
	struct schedshard_visited_pool *pool = schedshard_visited_pool_alloc(plan);
	struct schedshard_visited *v = pool ? schedshard_visited_alloc(pool, -1, 0) : NULL;
	uint32_t a = plan->shard_cpus[0][0], b = plan->shard_cpus[0][1];
	uint32_t far = plan->shard_cpus[plan->nr_shards - 1][0];

	queue = calloc(plan->nr_cpus, sizeof(*queue));
	example_need(v && queue, "out of memory");
	for (uint32_t epoch = 1; epoch <= 9; epoch++) {
		/* it runs first on two CPUs of one cache, then on one of another cache */
		schedshard_visited_account(v, &queue[epoch < 3 ? a : far], epoch < 3 ? a : far,
					   epoch, 8 * MS);
		if (epoch < 3)
			schedshard_visited_account(v, &queue[b], b, epoch, 4 * MS);
		/* other processes run there, too */
		queue[a] = schedshard_occupancy_add(queue[a], epoch, 2 * MS);
		queue[b] = schedshard_occupancy_add(queue[b], epoch, 2 * MS);
		scan(plan, v, epoch);
	}
	schedshard_visited_free(v);
	schedshard_visited_pool_free(pool);
	schedshard_plan_free(plan);
	free(queue);
	return 0;
}
