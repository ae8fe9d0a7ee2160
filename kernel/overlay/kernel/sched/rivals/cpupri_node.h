/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rival "node-mask": for each level, each NUMA node has a mask of its CPUs in its own memory. The
 * mask of all CPUs is their union.
 */
#ifndef _KERNEL_SCHED_RIVALS_CPUPRI_NODE_H
#define _KERNEL_SCHED_RIVALS_CPUPRI_NODE_H

struct cpupri_vec {
	atomic_t count;
	cpumask_var_t *masks;
};

static inline struct cpumask *cpupri_node_mask(struct cpupri_vec *vec, int cpu)
{
	return vec->masks[cpu_to_node(cpu)];
}

/* Is a CPU of @allowed at the level? Read the own node's mask first. */
static inline bool cpupri_nodes_intersect(struct cpupri_vec *vec,
					  const struct cpumask *allowed)
{
	int own = numa_node_id(), i;

	for (i = 0; i < nr_node_ids; i++)
		if (cpumask_intersects(allowed,
				       vec->masks[(own + i) % nr_node_ids]))
			return true;
	return false;
}

static inline void cpupri_nodes_and(struct cpumask *to,
				    const struct cpumask *allowed,
				    struct cpupri_vec *vec)
{
	int node;

	cpumask_clear(to);
	for (node = 0; node < nr_node_ids; node++)
		cpumask_or(to, to, vec->masks[node]);
	cpumask_and(to, to, allowed);
}

static inline void cpupri_nodes_free(struct cpupri_vec *vec)
{
	int node;

	for (node = 0; vec->masks && node < nr_node_ids; node++)
		free_cpumask_var(vec->masks[node]);
	kfree(vec->masks);
}

static inline bool cpupri_nodes_alloc(struct cpupri_vec *vec)
{
	int node;

	vec->masks = kcalloc(nr_node_ids, sizeof(*vec->masks), GFP_KERNEL);
	for (node = 0; vec->masks && node < nr_node_ids; node++) {
		/* An offline node has no memory yet. */
		if (!zalloc_cpumask_var_node(
			    &vec->masks[node], GFP_KERNEL,
			    node_online(node) ? node : NUMA_NO_NODE)) {
			cpupri_nodes_free(vec);
			return false;
		}
	}
	return vec->masks;
}

#endif /* _KERNEL_SCHED_RIVALS_CPUPRI_NODE_H */
