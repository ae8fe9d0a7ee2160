// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the plan is, for people: one line at boot, all of it in debugfs.
 *
 * The plan never changes, so neither needs a lock.
 */
#define pr_fmt(fmt) "schedshard: " fmt

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/schedshard/machine.h>

static int __init print_plan(void)
{
	const struct shard_plan *plan = schedshard_plan;
	u32 least = SHARD_MAX_CAP, most = 0, s;

	for (s = 0; s < plan->nr_shards; s++) {
		least = min(least, plan->shard[s].nr_cpus);
		most = max(most, plan->shard[s].nr_cpus);
	}
	pr_info("%u possible CPUs: %u shards of %u-%u, %u LLCs (%s), %u nodes, %u packages\n",
		plan->nr_possible, plan->nr_shards, least, most, plan->nr_llcs, schedshard_source,
		plan->nr_nodes, plan->nr_packages);
	if (plan->split_llc)
		pr_info("shard_split=%u: LLCs are counted after the split\n", plan->split_llc);
	if (plan->cap != SHARD_MAX_CAP)
		pr_info("shard_cap=%u\n", plan->cap);
	return 0;
}
early_initcall(print_plan);

#ifdef CONFIG_DEBUG_FS

static int plan_show(struct seq_file *m, void *unused)
{
	const struct shard_plan *plan = schedshard_plan;
	cpumask_var_t cpus;
	u32 s;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	seq_printf(m, "source: %s\n", schedshard_source);
	seq_printf(m, "split_llc: %u\n", plan->split_llc);
	seq_printf(m, "shard_cap: %u\n", plan->cap);
	seq_printf(m, "possible: %u\n", plan->nr_possible);
	seq_printf(m, "shards: %u\n", plan->nr_shards);
	seq_printf(m, "llcs: %u\n", plan->nr_llcs);
	seq_printf(m, "nodes: %u\n", plan->nr_nodes);
	seq_printf(m, "packages: %u\n", plan->nr_packages);
	seq_puts(m, "shard package node llc cpus\n");
	for (s = 0; s < plan->nr_shards; s++) {
		const struct shard *shard = &plan->shard[s];

		cpumask_clear(cpus);
		shard_scatter(plan, s, shard->valid, cpumask_bits(cpus));
		seq_printf(m, "%u %d %d %u %*pbl\n", s, shard->package, shard->node, shard->llc,
			   cpumask_pr_args(cpus));
	}
	free_cpumask_var(cpus);
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(plan);

static int __init make_plan_file(void)
{
	struct dentry *dir = debugfs_create_dir("schedshard", NULL);

	debugfs_create_file("plan", 0444, dir, NULL, &plan_fops);
	return 0;
}

/* Before late_initcall(), at which others put files beside this one. */
fs_initcall(make_plan_file);

#endif /* CONFIG_DEBUG_FS */
