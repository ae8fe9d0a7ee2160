// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the set of visited CPUs, and the preference from it, with the whole machine.
 *
 * While the check is on, each process with new state gets a shadow too: for every CPU a runtime
 * that grows like the one in the set, and that no scan removes. A scan reads all of them first.
 * Then
 *
 *  - a scan that walks the set must find each CPU that was counted within the timeout by then.
 *    visited.h promises that without exception, so that a missing CPU is an error;
 *  - the check compares the LLC that a full scan of the shadow prefers with the scan's. They may
 *    differ, since the full scan still counts runtimes older than the timeout. The check counts
 *    separately the cases in which a full scan of newer runtimes agrees. For the others it reports
 *    the share of the runtime on CPUs that the scan did not find.
 *
 * Neither has the runtime that was put off for lack of a block (visited_account() returned false).
 * The check reports how often that happened.
 *
 * Concurrency: a CPU writes its own part of a shadow, under its run queue's lock. The shadow has
 * the lifetime of the struct sched_cache. A check belongs to the scan that began it.
 */
#define pr_fmt(fmt) "sched/cache: " fmt

#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "cache_internal.h"

/* A process's shadow on a CPU. */
struct sched_cache_shadow {
	u64 word;    /* its runtime there, as occupancy_add() leaves it */
	u64 counted; /* epoch of the last true visited_account(), with a runtime of 1; 0: never */
};

/* The check of one scan. */
struct sched_cache_check {
	struct occupancy full;	/* sums of a full scan */
	struct occupancy fresh; /* the same of runtimes that are not too old */
	bool walks_set;		/* the scan walks visited CPUs only */
	u64 total;		/* all runtime, decayed */
	struct {
		u32 ns;	    /* its runtime, decayed */
		bool must;  /* must the scan find it? */
		bool found; /* did it? */
	} cpu[];	    /* by CPU number */
};

static bool checking;
static atomic_long_t nr_checks, nr_missed, nr_put_off;
static atomic_long_t nr_same, nr_aged, nr_different;
/* The largest share of runtime, in thousandths, not read by a scan with another preference. */
static atomic_long_t unseen_most;

struct sched_cache_shadow *sched_cache_debug_alloc(void)
{
	if (!READ_ONCE(checking))
		return NULL;
	return kvcalloc(nr_cpu_ids, sizeof(struct sched_cache_shadow), GFP_KERNEL);
}

void __sched_cache_debug_account(struct sched_cache_shadow *shadow, int cpu, u32 epoch, u64 ns,
				 bool counted)
{
	struct sched_cache_shadow *mine = &shadow[cpu];

	if (!counted) {
		atomic_long_inc(&nr_put_off);
		return;
	}
	WRITE_ONCE(mine->word, occupancy_add(mine->word, epoch, ns));
	/* After visited_account(). Pairs with sched_cache_debug_begin(): its scan begins later. */
	smp_store_release(&mine->counted, occupancy_pack(epoch, 1));
}

struct sched_cache_check *sched_cache_debug_begin(struct sched_cache_shadow *shadow, u32 epoch,
						  s32 timeout, s32 present)
{
	const struct shard_plan *plan = schedshard_plan;
	struct sched_cache_check *check;
	u32 i;

	if (!shadow)
		return NULL;
	check = kvzalloc(struct_size(check, cpu, nr_cpu_ids), GFP_KERNEL);
	if (!check)
		return NULL;
	occupancy_begin(&check->full, present);
	occupancy_begin(&check->fresh, present);
	for (i = 0; i < plan->nr_possible; i++) {
		u32 cpu = plan->idx_to_cpu[i];
		/* Pairs with the release in __sched_cache_debug_account(). */
		u64 counted = smp_load_acquire(&shadow[cpu].counted);
		u64 word = READ_ONCE(shadow[cpu].word), share;

		check->cpu[cpu].ns = occupancy_decayed(word, epoch);
		check->total += check->cpu[cpu].ns;
		check->cpu[cpu].must =
			occupancy_ns(counted) && !occupancy_is_old(counted, epoch, timeout);
		if (!cpu_online(cpu))
			continue;
		/*
		 * Pairs with smp_wmb() in visited_account(): read the queue's runtime after the
		 * process's.
		 */
		smp_rmb();
		share = occupancy_share(word, READ_ONCE(cpu_rq(cpu)->cache.runtime), epoch);
		occupancy_cpu(&check->full, sched_cache_llc_of(cpu), share);
		if (!occupancy_is_old(word, epoch, timeout))
			occupancy_cpu(&check->fresh, sched_cache_llc_of(cpu), share);
	}
	return check;
}

void sched_cache_debug_visited(struct sched_cache_check *check)
{
	if (check)
		check->walks_set = true;
}

void sched_cache_debug_found(struct sched_cache_check *check, int cpu)
{
	if (check)
		check->cpu[cpu].found = true;
}

static void note_unseen(const struct sched_cache_check *check, u64 unseen)
{
	long most = atomic_long_read(&unseen_most);
	long here = check->total ? div64_u64(unseen * 1000, check->total) : 0;

	while (here > most && !atomic_long_try_cmpxchg(&unseen_most, &most, here))
		;
}

static void compare(struct sched_cache_check *check, const struct occupancy *o)
{
	s32 present = check->full.present, full = occupancy_end(&check->full);
	s32 best = o->best_sum > 2 * o->present_sum ? o->best : o->present;
	u64 unseen = 0;
	u32 cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		if (check->cpu[cpu].found)
			continue;
		unseen += check->cpu[cpu].ns;
		if (check->cpu[cpu].must && !atomic_long_fetch_inc(&nr_missed))
			pr_err("%s: CPU %u was visited, and the scan did not find it\n",
			       current->comm, cpu);
	}
	/* Another scan in between changed the preference: there is nothing to compare. */
	if (present != o->present)
		return;
	if (full == best) {
		atomic_long_inc(&nr_same);
	} else if (occupancy_end(&check->fresh) == best) {
		atomic_long_inc(&nr_aged);
	} else {
		atomic_long_inc(&nr_different);
		note_unseen(check, unseen);
	}
}

void sched_cache_debug_end(struct sched_cache_check *check, const struct occupancy *o)
{
	if (check && o && check->walks_set) {
		atomic_long_inc(&nr_checks);
		compare(check, o);
	}
	kvfree(check);
}

static int check_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "errors %ld checks %ld\n", atomic_long_read(&nr_missed),
		   atomic_long_read(&nr_checks));
	seq_printf(m, "running %d\n", READ_ONCE(checking));
	seq_printf(m, "same %ld aged %ld different %ld\n", atomic_long_read(&nr_same),
		   atomic_long_read(&nr_aged), atomic_long_read(&nr_different));
	seq_printf(m, "unseen %ld of 1000\n", atomic_long_read(&unseen_most));
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

static int __init cache_debug_init(void)
{
	if (sched_cache_dir)
		debugfs_create_file("check", 0644, sched_cache_dir, NULL, &check_fops);
	return 0;
}

/* After sched_cache_init(), which is linked earlier. */
late_initcall(cache_debug_init);
