// SPDX-License-Identifier: GPL-2.0-only
/*
 * Check the early plan. After device_initcall() the CPUs themselves have reported their caches.
 * "Shares a cache" is transitive. So it is enough to compare each CPU with the first one of its
 * LLC, and these first ones with each other. The plan may be finer than the caches: shard_split=
 * cuts them, and so do boundaries of NUMA nodes. The check reads the maps, as virtual machines
 * invent the ids of caches.
 */
#define pr_fmt(fmt) "schedshard: " fmt

#include <linux/cacheinfo.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include "options.h"

/* Online CPUs that share @cpu's last-level cache; NULL: unknown. */
static const struct cpumask *cache_mates(unsigned int cpu)
{
	const struct cpu_cacheinfo *info = get_cpu_cacheinfo(cpu);

	if (!cpu_online(cpu) || !info->num_leaves || !info->info_list)
		return NULL;
	return &info->info_list[info->num_leaves - 1].shared_cpu_map;
}

/* The first CPU of shard @s whose last-level cache is known; nr_cpu_ids if there is none. */
static unsigned int first_known(const struct shard_plan *plan, u32 s)
{
	u32 i;

	for (i = 0; i < plan->shard[s].nr_cpus; i++)
		if (cache_mates(plan->shard_cpus[s][i]))
			return plan->shard_cpus[s][i];
	return nr_cpu_ids;
}

/* Does a CPU of shard @s have another cache than CPU @a of the same LLC? */
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

/* Linux's own split_llc= cuts the scheduler's view of a cache, not the cache's maps. */
static bool scheduler_cuts(unsigned int a, unsigned int b)
{
#if defined(CONFIG_X86) && defined(CONFIG_SMP)
	return !cpumask_test_cpu(b, cpu_llc_shared_mask(a));
#else
	return false;
#endif
}

/* Does the plan cut a cache of shard @s's node without an option that requests it? */
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
		if (*b < nr_cpu_ids && cpumask_test_cpu(*b, cache_mates(a)) &&
		    !scheduler_cuts(a, *b))
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
		/* Compare all shards of an LLC with one CPU of it. */
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
