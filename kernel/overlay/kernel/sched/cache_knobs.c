// SPDX-License-Identifier: GPL-2.0-only
/*
 * The switch of cache-aware scheduling, and its knobs in /sys/kernel/debug/sched/cache/.
 *
 * On a machine whose plan has one last-level cache it stays off and has no knobs.
 */
#define pr_fmt(fmt) "sched/cache: " fmt

#include <linux/cacheinfo.h>
#include <linux/cpuhotplug.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include "cache_internal.h"

struct visited_pool *sched_cache_pool __ro_after_init;
struct sched_cache_llc *sched_cache_llcs __ro_after_init;
struct dentry *sched_cache_dir __ro_after_init;

u32 sched_cache_tolerance = OCCUPANCY_STRICT;
u32 sched_cache_timeout = 5;

/* Keeps the tolerance and the static key together. */
static DEFINE_MUTEX(knob_mutex);

static int tolerance_get(void *unused, u64 *value)
{
	*value = READ_ONCE(sched_cache_tolerance);
	return 0;
}

static int tolerance_set(void *unused, u64 value)
{
	if (value > OCCUPANCY_ALWAYS)
		return -EINVAL;
	guard(mutex)(&knob_mutex);
	WRITE_ONCE(sched_cache_tolerance, value);
	if (value == OCCUPANCY_OFF)
		static_branch_disable(&sched_cache_on);
	else
		static_branch_enable(&sched_cache_on);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(tolerance_fops, tolerance_get, tolerance_set, "%llu\n");

static int timeout_get(void *unused, u64 *value)
{
	*value = READ_ONCE(sched_cache_timeout);
	return 0;
}

static int timeout_set(void *unused, u64 value)
{
	if (value < 1 || value > 1000)
		return -EINVAL;
	WRITE_ONCE(sched_cache_timeout, value);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(timeout_fops, timeout_get, timeout_set, "%llu\n");

static int epoch_get(void *unused, u64 *value)
{
	*value = sched_cache_period() / NSEC_PER_MSEC;
	return 0;
}

static int epoch_set(void *unused, u64 value)
{
	/* A runtime of two epochs must be far from the ceiling of occupancy.h, 4.3 s. */
	if (value < 1 || value > 500)
		return -EINVAL;
	guard(mutex)(&knob_mutex);
	sched_cache_set_period(value * NSEC_PER_MSEC);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(epoch_fops, epoch_get, epoch_set, "%llu\n");

/* Store the size of the CPU's LLC, or of its part if shard_split= cuts it. */
static int cpu_comes(unsigned int cpu)
{
	struct cpu_cacheinfo *info = get_cpu_cacheinfo(cpu);
	u32 split = max(1u, schedshard_plan->split_llc);
	struct cacheinfo *last = NULL;
	unsigned int i;

	for (i = 0; info->info_list && i < info->num_leaves; i++) {
		struct cacheinfo *leaf = &info->info_list[i];

		if (leaf->type & CACHE_TYPE_DATA && (!last || leaf->level > last->level))
			last = leaf;
	}
	if (last)
		WRITE_ONCE(sched_cache_llcs[sched_cache_llc_of(cpu)].bytes, last->size / split);
	return 0;
}

static bool __init make_tables(const struct shard_plan *plan)
{
	u32 shard;

	sched_cache_llcs = kvcalloc(plan->nr_llcs, sizeof(*sched_cache_llcs), GFP_KERNEL);
	if (!sched_cache_llcs)
		return false;
	for (shard = 0; shard < plan->nr_shards; shard++) {
		struct sched_cache_llc *llc = &sched_cache_llcs[plan->shard[shard].llc];

		if (!llc->end_shard)
			llc->first_shard = shard;
		llc->end_shard = shard + 1;
	}
	sched_cache_pool = visited_pool_alloc(plan);
	if (sched_cache_pool)
		return true;
	kvfree(sched_cache_llcs);
	return false;
}

static int __init sched_cache_init(void)
{
	const struct shard_plan *plan = schedshard_plan;
	struct dentry *sched;
	int err;

	if (plan->nr_llcs < 2) {
		pr_info("one last-level cache, nothing to choose\n");
		return 0;
	}
	if (!make_tables(plan))
		return -ENOMEM;
	/* The caches of all CPUs that are online, and of those that come online. */
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "sched/cache:online", cpu_comes, NULL);
	if (err < 0)
		pr_warn("sizes of caches are not known: %d\n", err);
	sched = debugfs_lookup("sched", NULL);
	sched_cache_dir = debugfs_create_dir("cache", sched);
	dput(sched);
	debugfs_create_file_unsafe("tolerance", 0644, sched_cache_dir, NULL, &tolerance_fops);
	debugfs_create_file_unsafe("timeout_epochs", 0644, sched_cache_dir, NULL, &timeout_fops);
	debugfs_create_file_unsafe("epoch_ms", 0644, sched_cache_dir, NULL, &epoch_fops);
	static_branch_enable(&sched_cache_on);
	return 0;
}

/* After sched_init_debug(), which is linked earlier. */
late_initcall(sched_cache_init);
