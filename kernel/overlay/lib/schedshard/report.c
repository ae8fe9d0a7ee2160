// SPDX-License-Identifier: GPL-2.0-only
/*
 * Show the plan: one line at boot, all of it in debugfs. The plan never changes, so neither needs a
 * lock.
 */
#define pr_fmt(fmt) "schedshard: " fmt

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "options.h"

static int __init print_plan(void)
{
	const struct shard_plan *plan = schedshard_plan;
	u32 least = SHARD_MAX_CAP, most = 0, nodes = 0, packages = 0, s;

	for (s = 0; s < plan->nr_shards; s++) {
		least = min(least, plan->shard[s].nr_cpus);
		most = max(most, plan->shard[s].nr_cpus);
		packages += !s || plan->shard[s].package != plan->shard[s - 1].package;
		nodes += !s || plan->shard[s].node != plan->shard[s - 1].node;
	}
	pr_info("%u possible CPUs: %u shards of %u-%u, %u LLCs, %u nodes, %u packages\n",
		plan->nr_possible, plan->nr_shards, least, most, plan->nr_llcs, nodes, packages);
	if (schedshard_split > 1)
		pr_info("shard_split=%u: LLCs are counted after the split\n", schedshard_split);
	if (schedshard_cap != SHARD_MAX_CAP)
		pr_info("shard_cap=%u\n", schedshard_cap);
	return 0;
}
early_initcall(print_plan);

#ifdef CONFIG_DEBUG_FS

static int plan_show(struct seq_file *m, void *unused)
{
	const struct shard_plan *plan = schedshard_plan;
	cpumask_var_t cpus;
	u32 s, i;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	seq_printf(m, "shard_split: %u\n", schedshard_split);
	seq_printf(m, "shard_cap: %u\n", schedshard_cap);
	seq_printf(m, "possible: %u\n", plan->nr_possible);
	seq_printf(m, "shards: %u\n", plan->nr_shards);
	seq_printf(m, "llcs: %u\n", plan->nr_llcs);
	seq_puts(m, "shard package node llc cpus\n");
	for (s = 0; s < plan->nr_shards; s++) {
		const struct shard *shard = &plan->shard[s];

		cpumask_clear(cpus);
		for (i = 0; i < shard->nr_cpus; i++)
			cpumask_set_cpu(plan->shard_cpus[s][i], cpus);
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

/* Before late_initcall(), in which the checks add their files. */
fs_initcall(make_plan_file);

#endif /* CONFIG_DEBUG_FS */
