// SPDX-License-Identifier: GPL-2.0-only
/*
 * Was the early plan right? Cache information of all CPUs exists after device_initcall(), from
 * the CPUs themselves. "Shares a cache" is transitive, so that comparing each CPU with the first
 * one of its LLC, and these first ones with each other, says as much as comparing all pairs. The
 * plan may be finer than the caches, not only by shard_split=: it cuts a cache at the
 * boundaries of NUMA nodes.
 *
 * The maps are asked, not the ids of caches, which virtual machines make up.
 */
#define pr_fmt(fmt) "schedshard: " fmt

#include <linux/cacheinfo.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/printk.h>
#include <linux/schedshard/machine.h>

/* CPUs that are on line and share @cpu's last-level cache; NULL: not known. */
static const struct cpumask *cache_mates(unsigned int cpu)
{
	const struct cpu_cacheinfo *info = get_cpu_cacheinfo(cpu);

	if (!cpu_online(cpu) || !info->num_leaves || !info->info_list)
		return NULL;
	return &info->info_list[info->num_leaves - 1].shared_cpu_map;
}

/* First CPU of shard @s whose cache is known; nr_cpu_ids: none. */
static unsigned int first_known(const struct shard_plan *plan, u32 s)
{
	u32 i;

	for (i = 0; i < plan->shard[s].nr_cpus; i++)
		if (cache_mates(plan->shard_cpus[s][i]))
			return plan->shard_cpus[s][i];
	return nr_cpu_ids;
}

/* Is a CPU of shard @s in another cache than CPU @a, which is of the same LLC? */
static bool is_torn(const struct shard_plan *plan, u32 s, unsigned int a, unsigned int *b)
{
	u32 i;

	for (i = 0; i < plan->shard[s].nr_cpus; i++) {
		*b = plan->shard_cpus[s][i];
		if (cache_mates(*b) && !cpumask_test_cpu(*b, cache_mates(a)))
			return true;
	}
	return false;
}

/* Is a cache of shard @s's node cut although nobody asked for it? */
static bool is_cut(const struct shard_plan *plan, u32 s, unsigned int a, unsigned int *b)
{
	u32 other;

	if (plan->split_llc)
		return false;
	for (other = s + 1; other < plan->nr_shards; other++) {
		if (plan->shard[other].node != plan->shard[s].node ||
		    plan->shard[other].package != plan->shard[s].package)
			return false;
		if (plan->shard[other].llc == plan->shard[s].llc)
			continue;
		*b = first_known(plan, other);
		if (*b < nr_cpu_ids && cpumask_test_cpu(*b, cache_mates(a)))
			return true;
	}
	return false;
}

static int check_shards(const struct shard_plan *plan, unsigned int *a, unsigned int *b)
{
	int ret = -ENODATA;
	u32 s;

	*a = nr_cpu_ids;
	for (s = 0; s < plan->nr_shards; s++) {
		/* All shards of an LLC are compared with one CPU of it. */
		if (!s || plan->shard[s].llc != plan->shard[s - 1].llc || *a == nr_cpu_ids)
			*a = first_known(plan, s);
		if (*a == nr_cpu_ids)
			continue;
		ret = 0;
		if (is_torn(plan, s, *a, b))
			return -EXDEV;
		if (is_cut(plan, s, *a, b))
			return -EEXIST;
	}
	return ret;
}

int schedshard_check(unsigned int *a, unsigned int *b)
{
	int ret = -ENODATA;

	if (schedshard_plan->level != SHARD_LEVEL_LLC)
		return ret;
	cpus_read_lock();
	ret = check_shards(schedshard_plan, a, b);
	cpus_read_unlock();
	return ret;
}

static int __init schedshard_check_late(void)
{
	unsigned int a, b;

	switch (schedshard_check(&a, &b)) {
	case -EXDEV:
		pr_warn("CPUs %u and %u share no last-level cache, but a shard's; the plan stays\n",
			a, b);
		break;
	case -EEXIST:
		pr_warn("CPUs %u and %u share a last-level cache, but the plan has two; it stays\n",
			a, b);
		break;
	}
	return 0;
}

/* After device_initcall(), which collects the cache information. */
late_initcall(schedshard_check_late);
