/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rival "node-count": each NUMA node has a count of its overloaded CPUs, in its own memory. A
 * reader starts with its own node and stops at two: stock Linux distinguishes none, one and more.
 */
#ifndef _KERNEL_SCHED_RIVALS_RTO_COUNTS_H
#define _KERNEL_SCHED_RIVALS_RTO_COUNTS_H

/* One per cache line. */
struct rto_count {
	atomic_t n;
} ____cacheline_aligned;

static inline int rto_counts_sum(struct rto_count **counts)
{
	int own = numa_node_id(), sum = 0, i;

	for (i = 0; i < nr_node_ids && sum < 2; i++)
		sum += atomic_read(&counts[(own + i) % nr_node_ids]->n);
	return sum;
}

static inline void rto_counts_free(struct rto_count **counts)
{
	int node;

	for (node = 0; counts && node < nr_node_ids; node++)
		kfree(counts[node]);
	kfree(counts);
}

static inline struct rto_count **rto_counts_alloc(void)
{
	struct rto_count **counts =
		kcalloc(nr_node_ids, sizeof(*counts), GFP_KERNEL);
	int node;

	for (node = 0; counts && node < nr_node_ids; node++) {
		/* An offline node has no memory yet. */
		counts[node] =
			kzalloc_node(sizeof(**counts), GFP_KERNEL,
				     node_online(node) ? node : NUMA_NO_NODE);
		if (!counts[node]) {
			rto_counts_free(counts);
			return NULL;
		}
	}
	return counts;
}

#endif /* _KERNEL_SCHED_RIVALS_RTO_COUNTS_H */
