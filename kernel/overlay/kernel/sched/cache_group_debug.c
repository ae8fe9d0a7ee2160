// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cache groups: the scan of visited CPUs against Linux's own computation.
 *
 * While the check is on, a process that gets a set of visited CPUs also gets a shadow: a runtime of
 * every CPU. No scan removes one. A CPU writes its own when visited_account() returns true. With
 * each scan
 *
 *  - the walk must find each CPU that was counted within the timeout by then: visited.h promises
 *    that, so a missing one is an error;
 *  - the check compares the walk's LLC with Linux's preference from the shadow. The latter counts
 *    the CPUs that Linux would scan (all online, or those of some nodes), with each LLC's whole
 *    span. The two may differ, as Linux counts runtimes older than the timeout, and skips nodes.
 *    The check counts separately the cases in which recent runtimes of all online CPUs agree.
 *
 * A CPU writes its part of a shadow under its run queue's lock. The check looks at one scan at a
 * time, and lets others pass.
 */
#define pr_fmt(fmt) "sched/cache: " fmt

#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "cache_group_debug.h"

/* A process's shadow on a CPU. */
struct cache_group_shadow {
	u64 word;	    /* its runtime there, as occupancy_add() leaves it */
	atomic64_t counted; /* epoch of the last true visited_account(), runtime 1; 0: never */
};

/* A scan's sums, as Linux's. */
struct sums {
	u64 best, present;
	int best_cpu;
};

static bool checking;
static unsigned long busy; /* bit 0: a checked scan owns full_mask */
static struct cpumask full_mask;
static atomic_long_t nr_checks, nr_missed, nr_put_off;
static atomic_long_t nr_same, nr_fresh, nr_different;

void cache_group_shadow_make(struct cache_group *group)
{
	if (READ_ONCE(checking) && !group->shadow)
		group->shadow = kvcalloc(nr_cpu_ids, sizeof(*group->shadow), GFP_KERNEL);
}

void cache_group_shadow_put_off(struct cache_group *group)
{
	if (unlikely(group->shadow))
		atomic_long_inc(&nr_put_off);
}

void cache_group_shadow_account(struct cache_group *group, int cpu, unsigned long epoch, s64 ns)
{
	struct cache_group_shadow *mine;

	if (likely(!group->shadow))
		return;
	mine = &group->shadow[cpu];
	port_write64(&mine->word, occupancy_add(mine->word, (u32)epoch, ns));
	/* Pairs with the acquire in find_missed(): visited_account() comes before. */
	atomic64_set_release(&mine->counted, (s64)occupancy_pack((u32)epoch, 1));
}

/*
 * The walk was in epoch @epoch. A CPU that was counted in that or the previous epoch may have
 * entered too late for the walk; the next walk finds it.
 */
static void find_missed(const struct cache_group_shadow *shadow, const struct cpumask *cpus,
			u32 epoch)
{
	s32 timeout = READ_ONCE(llc_epoch_affinity_timeout);
	int cpu;

	for_each_possible_cpu(cpu) {
		/* Pairs with the release in cache_group_shadow_account(). */
		u64 counted = (u64)atomic64_read_acquire(&shadow[cpu].counted);

		if (!occupancy_ns(counted) || occupancy_is_old(counted, epoch, timeout) ||
		    occupancy_age(counted, epoch) < 2 || cpumask_test_cpu(cpu, cpus))
			continue;
		if (!atomic_long_fetch_inc(&nr_missed))
			pr_err("%s: CPU %d was visited, and the scan did not find it\n",
			       current->comm, cpu);
	}
}

/* The CPUs that Linux would scan for the running thread: these nodes, or all online CPUs. */
static void linux_scans(struct cpumask *cpus, const struct sched_cache_group *common)
{
#ifdef CONFIG_NUMA_BALANCING
	int cpu = READ_ONCE(common->cpu), node = current->numa_preferred_nid;

	if (static_branch_likely(&sched_numa_balancing) && node != NUMA_NO_NODE) {
		cpumask_copy(cpus, cpumask_of_node(node));
		cpumask_or(cpus, cpus, cpumask_of_node(cpu_to_node(task_cpu(current))));
		if (cpu >= 0)
			cpumask_or(cpus, cpus, cpumask_of_node(cpu_to_node(cpu)));
		return;
	}
#endif
	cpumask_copy(cpus, cpu_online_mask);
}

bool cache_group_check_begin(struct sched_cache_group *common, const struct cpumask *cpus)
{
	struct cache_group *group = to_cache_group(common);

	/* Pairs with clear_bit_unlock() in cache_group_check_end(): full_mask is free. */
	if (likely(!group->shadow) || test_and_set_bit_lock(0, &busy))
		return false;
	find_missed(group->shadow, cpus, (u32)port_read64(&group->visited->scan));
	linux_scans(&full_mask, common);
	return true;
}

static void add_llc(struct sums *sums, struct sched_domain *sd, int present_llc,
		    const struct cache_group_shadow *shadow, u32 epoch, s32 timeout)
{
	int i, cpu = -1, llc = per_cpu(sd_llc_id, cpumask_first(sched_domain_span(sd)));
	u64 sum = 0, most = 0;

	for_each_cpu(i, sched_domain_span(sd)) {
		u64 word = port_read64(&shadow[i].word), share;

		if (timeout >= 0 && occupancy_is_old(word, epoch, timeout))
			continue;
		/* Pairs with smp_wmb() in visited_account() and visited_enter(): queue second. */
		smp_rmb();
		share = occupancy_share(word, port_read64(&cpu_rq(i)->cpu_runtime), epoch);
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

/* The preferred LLC of a scan of @cpus, which the scan empties; @timeout -1: of any age. */
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

void cache_group_check_end(struct sched_cache_group *common, bool looked, int cpu,
			   unsigned long best, unsigned long present)
{
	struct cache_group_shadow *shadow = to_cache_group(common)->shadow;
	u32 epoch = (u32)cache_group_epoch();
	struct sums walked = { best, present, cpu };
	int present_llc, mine;

	if (likely(!looked))
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
	/* Pairs with test_and_set_bit_lock() in cache_group_check_begin(). */
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
