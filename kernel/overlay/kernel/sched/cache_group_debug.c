// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cache groups: the scan of visited CPUs against Linux's own computation.
 *
 * While this is switched on, each process whose set of visited CPUs is made gets a shadow too: for
 * every CPU a runtime that is never taken out, written when visited_account() has returned true.
 * With each scan
 *
 *  - each CPU that was counted within the timeout by then must be found by the walk: visited.h
 *    promises that, so that one that is missing is an error;
 *  - the LLC that Linux would prefer, from the shadow, on the CPUs that it would scan (all on
 *    line, or those of some nodes), each LLC's span whole, is compared with that of the walk.
 *    They may differ, as Linux goes on counting what is older than the timeout, and passes nodes
 *    by: in which all CPUs on line that are not too old agree is counted apart.
 *
 * A CPU's part of a shadow is written by that CPU, under its run queue's lock. One scan at a time
 * is looked at; others pass.
 */
#define pr_fmt(fmt) "sched/cache: " fmt

#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "cache_group.h"

/**
 * struct cache_group_shadow - of a process on a CPU
 * @word: its runtime there, as occupancy_add() leaves it
 * @counted: epoch in which visited_account() last returned true, with a runtime of 1; 0: never
 */
struct cache_group_shadow {
	u64 word;
	u64 counted;
};

/* What a scan adds up, as Linux does. */
struct sums {
	u64 best, present;
	int best_cpu;
};

static bool checking;
static unsigned long busy; /* bit 0: a scan is looked at, and owns full_mask */
static struct cpumask full_mask;
static atomic_long_t nr_checks, nr_missed, nr_put_off;
static atomic_long_t nr_same, nr_fresh, nr_different;

struct cache_group_shadow *cache_group_shadow_alloc(void)
{
	if (!READ_ONCE(checking))
		return NULL;
	return kvcalloc(nr_cpu_ids, sizeof(struct cache_group_shadow), GFP_KERNEL);
}

void cache_group_shadow_account(struct cache_group *group, int cpu, u32 epoch, u64 ns, bool counted)
{
	struct cache_group_shadow *mine = &group->shadow[cpu];

	if (!counted) {
		atomic_long_inc(&nr_put_off);
		return;
	}
	WRITE_ONCE(mine->word, occupancy_add(mine->word, epoch, ns));
	/* After visited_account(): who reads it begins a scan later. */
	smp_store_release(&mine->counted, occupancy_pack(epoch, 1));
}

/*
 * The walk was in epoch @epoch. A CPU that was counted in that or the one before may have come when
 * the walk had passed its place; for it the next one is there.
 */
static void find_missed(const struct cache_group_shadow *shadow, const struct cpumask *cpus,
			u32 epoch)
{
	s32 timeout = READ_ONCE(llc_epoch_affinity_timeout);
	int cpu;

	for_each_possible_cpu(cpu) {
		/* Pairs with cache_group_shadow_account(). */
		u64 counted = smp_load_acquire(&shadow[cpu].counted);

		if (!occupancy_ns(counted) || occupancy_is_old(counted, epoch, timeout) ||
		    occupancy_age(counted, epoch) < 2 || cpumask_test_cpu(cpu, cpus))
			continue;
		if (!atomic_long_fetch_inc(&nr_missed))
			pr_err("%s: CPU %d was visited, and the scan did not find it\n",
			       current->comm, cpu);
	}
}

struct cpumask *cache_group_check_begin(struct sched_cache_group *common,
					const struct cpumask *cpus)
{
	struct cache_group *group = to_cache_group(common);

	/* Acquire: what the last one did with the mask is over. */
	if (likely(!group->shadow) || test_and_set_bit_lock(0, &busy))
		return NULL;
	find_missed(group->shadow, cpus, (u32)READ_ONCE(group->visited->scan));
	cpumask_clear(&full_mask);
	return &full_mask;
}

static void add_llc(struct sums *sums, struct sched_domain *sd, int present_llc,
		    const struct cache_group_shadow *shadow, u32 epoch, s32 timeout)
{
	int i, cpu = -1, llc = per_cpu(sd_llc_id, cpumask_first(sched_domain_span(sd)));
	u64 sum = 0, most = 0;

	for_each_cpu(i, sched_domain_span(sd)) {
		u64 word = READ_ONCE(shadow[i].word), share;

		if (timeout >= 0 && occupancy_is_old(word, epoch, timeout))
			continue;
		/* The runtime, then the run queue's, as in a scan. */
		smp_rmb();
		share = occupancy_share(word, READ_ONCE(cpu_rq(i)->cpu_runtime), epoch);
		sum += share;
		if (share > most) {
			most = share;
			cpu = i;
		}
	}
	if (sum > sums->best) {
		sums->best = sum;
		sums->best_cpu = cpu;
	}
	if (llc == present_llc)
		sums->present = sum;
}

static int llc_of(int cpu)
{
	return cpu < 0 ? -1 : per_cpu(sd_llc_id, cpu);
}

static int decide(const struct sums *sums, int present_llc)
{
	return sums->best > 2 * sums->present ? llc_of(sums->best_cpu) : present_llc;
}

/* The LLC that a scan of @cpus, which it empties, prefers; @timeout -1: however old. */
static int prefer(struct cpumask *cpus, const struct cache_group_shadow *shadow, int present_llc,
		  u32 epoch, s32 timeout)
{
	struct sums sums = { .best_cpu = -1 };
	int cpu;

	for_each_cpu(cpu, cpus) {
		struct sched_domain *sd = rcu_dereference_all(per_cpu(sd_llc, cpu));

		if (!sd)
			continue;
		add_llc(&sums, sd, present_llc, shadow, epoch, timeout);
		cpumask_andnot(cpus, cpus, sched_domain_span(sd));
	}
	return decide(&sums, present_llc);
}

void cache_group_check_end(struct sched_cache_group *common, const struct cpumask *full, int cpu,
			   unsigned long best, unsigned long present)
{
	struct cache_group_shadow *shadow = to_cache_group(common)->shadow;
	u32 epoch = (u32)cache_group_epoch();
	struct sums walked = { best, present, cpu };
	int present_llc, mine;

	if (likely(!full))
		return;
	rcu_read_lock();
	present_llc = llc_of(READ_ONCE(common->cpu));
	mine = decide(&walked, present_llc);
	atomic_long_inc(&nr_checks);
	if (prefer(&full_mask, shadow, present_llc, epoch, -1) == mine) {
		atomic_long_inc(&nr_same);
	} else {
		cpumask_copy(&full_mask, cpu_online_mask);
		if (prefer(&full_mask, shadow, present_llc, epoch,
			   READ_ONCE(llc_epoch_affinity_timeout)) == mine)
			atomic_long_inc(&nr_fresh);
		else
			atomic_long_inc(&nr_different);
	}
	rcu_read_unlock();
	clear_bit_unlock(0, &busy);
}

static int check_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "errors %ld checks %ld\n", atomic_long_read(&nr_missed),
		   atomic_long_read(&nr_checks));
	seq_printf(m, "running %d\n", READ_ONCE(checking));
	seq_printf(m, "same %ld fresh %ld different %ld\n", atomic_long_read(&nr_same),
		   atomic_long_read(&nr_fresh), atomic_long_read(&nr_different));
	seq_printf(m, "put off %ld\n", atomic_long_read(&nr_put_off));
	return 0;
}

static ssize_t check_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	bool on;
	int err = kstrtobool_from_user(from, len, &on);

	if (err)
		return err;
	WRITE_ONCE(checking, on);
	return len;
}

DEFINE_SHOW_STORE_ATTRIBUTE(check);

static int __init cache_group_debug_init(void)
{
	debugfs_create_file("sched_cache_check", 0644, NULL, NULL, &check_fops);
	return 0;
}
late_initcall(cache_group_debug_init);
