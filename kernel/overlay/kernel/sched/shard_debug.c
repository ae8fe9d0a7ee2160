// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the state that CPUs have published with their run queues.
 *
 * The scheduler publishes this state under the lock of the queue. So under that
 * lock the state must agree with the queue exactly, on any CPU:
 *
 *  - the level of an online queue is that of its deadline or RT tasks;
 *  - the byte of an online queue among the overloaded ones is that of
 *    rq->rt.rto.shards;
 *  - rq->rt.rto.shards is set if a pushable task does not outrank rq->donor
 *    (else no CPU pulls it). It is not set without pushable tasks (else CPUs
 *    look without need). If all pushable tasks outrank rq->donor, it is not
 *    set either, unless the CPU is about to reschedule or picks a task. A
 *    pull drops the lock then, and another CPU may change the policy of the
 *    task that the CPU leaves;
 *  - rq->rt.shards and places are at least the reach of each pushable task, and
 *    0 without pushable tasks; an overloaded queue publishes all shards.
 *
 * A push walk never goes on to its own CPU. rt.c reports each step.
 *
 * These comparisons miss a task that waits while a CPU that it may use runs a
 * task of lower priority. The check reports the longest time, in milliseconds,
 * for which a CPU's best waiting task stayed in that state. A long time is no
 * error by itself, because a CPU of an emulator may stop for long.
 *
 * No check prints under a scheduler lock, because printing may wake a task. The
 * check keeps the first error of each kind. The periodic work prints it, or a
 * read of the file does.
 */
#define pr_fmt(fmt) "schedshard: " fmt

#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/mmu_context.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/sched/isolation.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include "sched.h"
#include "shard_debug.h"

static bool shard_debug_on;

#define PERIOD (HZ / 10)

enum kind {
	LEVEL,
	RT_BYTE,
	RT_MISSED,
	RT_IN_VAIN,
	RT_STAYS,
	RT_LEAVES,
	WALK_SELF,
	KINDS,
};

static const char *const what[KINDS] = {
	[LEVEL] = "a queue publishes a wrong level",
	[RT_BYTE] = "a queue publishes a wrong overload byte",
	[RT_MISSED] = "an RT task waits, and the queue does not say so",
	[RT_IN_VAIN] = "no RT task is pushable, and the queue says so",
	[RT_STAYS] = "a task may run where the queue does not say so",
	[RT_LEAVES] = "no RT task is pushable, and the queue says where",
	[WALK_SELF] = "a push walk sends its own CPU an interrupt",
};

/* Errors of one kind, and the first of them. */
struct findings {
	atomic_long_t errors;
	atomic_t claimed; /* the CPU that raises it from 0 fills in the rest */
	int cpu;
	int found;
	int expected;
	bool printed;
	bool ready;
};

static struct findings findings[KINDS];
static atomic_long_t nr_checks;

static void expect(enum kind kind, int cpu, int found, int expected)
{
	struct findings *f = &findings[kind];

	atomic_long_inc(&nr_checks);
	if (found == expected)
		return;
	atomic_long_inc(&f->errors);
	/* Needs no order: it picks the CPU that writes the rest. */
	if (atomic_cmpxchg(&f->claimed, 0, 1))
		return;
	f->cpu = cpu;
	f->found = found;
	f->expected = expected;
	/* Pairs with the acquire in print_new(): the fields are written. */
	smp_store_release(&f->ready, true);
}

/* The level by the queue's tasks, as cpupri.c numbers levels. */
static int level_of(const struct rq *rq)
{
	if (rq->dl.earliest_dl.curr)
		return CPUPRI_HIGHER;
	return MAX_RT_PRIO - 1 - rq->rt.highest_prio.curr;
}

/* Check what one queue published. Its lock is held, so rq->rd is stable. */
static void check_published(struct rq *rq)
{
	struct root_domain *rd = rq->rd;

	if (!rq->online)
		return;
	expect(LEVEL, rq->cpu, rd->cpupri.level[cpu_slot[rq->cpu]],
	       level_of(rq));
	expect(RT_BYTE, rq->cpu, rd->rto.state[cpu_slot[rq->cpu]],
	       rto_state(rq->cpu, rq->rt.rto.shards));
}

/*
 * Check that a push walk does not continue on its own CPU. Otherwise that CPU
 * may be kept busy by interrupts to itself for as long as other CPUs request
 * rounds. Commit 94894c9c477e ended that in Linux.
 */
void shard_debug_walk(int next)
{
	expect(WALK_SELF, smp_processor_id(), next == smp_processor_id(),
	       false);
}

/* The shards or places of a task of which its queue knows nothing. */
static int missing_of(struct rq *rq, struct task_struct *p)
{
	u64 shards, places;

	rto_reach(&p->cpus_mask, &shards, &places);
	return hweight64(shards & ~rq->rt.shards) +
	       hweight64(places & ~rq->rt.places);
}

static void check_tasks(struct rq *rq)
{
	int waiting = 0, missing = 0;
	struct task_struct *p;

	plist_for_each_entry(p, &rq->rt.pushable_tasks, pushable_tasks) {
		waiting += p->prio >= rq->donor->prio;
		missing += missing_of(rq, p);
	}
	if (waiting && rq->online)
		expect(RT_MISSED, rq->cpu, rq->rt.rto.shards == rq->rt.shards,
		       true);
	else if (plist_head_empty(&rq->rt.pushable_tasks) ||
		 (rq->curr->on_rq && !test_tsk_need_resched(rq->curr)))
		expect(RT_IN_VAIN, rq->cpu, !!rq->rt.rto.shards, false);
	expect(RT_STAYS, rq->cpu, missing, 0);
	if (plist_head_empty(&rq->rt.pushable_tasks))
		expect(RT_LEAVES, rq->cpu, rq->rt.shards || rq->rt.places,
		       false);
}

/*
 * The best task that waits on a CPU although another CPU would run it at once.
 * It counts only if it is seen again, because a CPU may be about to push or
 * pull it. @ran shows whether it ran in between.
 */
struct stranded {
	pid_t pid;
	u64 ran;
	unsigned long since;
};

static DEFINE_PER_CPU(struct stranded, stranded);
static atomic_long_t stranded_longest; /* jiffies */

static bool is_stranded(struct rq *rq, struct task_struct *p)
{
	return p->prio >= rq->donor->prio && !is_migration_disabled(p) &&
	       cpupri_find(&rq->rd->cpupri, p, NULL);
}

static void check_stranded(struct rq *rq)
{
	struct stranded *s = this_cpu_ptr(&stranded), now = {};
	struct plist_head *tasks = &rq->rt.pushable_tasks;
	struct task_struct *p;

	if (rq->online && !plist_head_empty(tasks)) {
		p = plist_first_entry(tasks, struct task_struct,
				      pushable_tasks);
		if (is_stranded(rq, p))
			now = (struct stranded){ p->pid, p->se.sum_exec_runtime,
						 jiffies };
	}
	if (now.pid && now.pid == s->pid && now.ran == s->ran)
		atomic_long_set(&stranded_longest,
				max(atomic_long_read(&stranded_longest),
				    (long)(now.since - s->since)));
	else
		*s = now;
}

/* On the CPU itself, interrupts off. */
static void check_this_cpu(void *unused)
{
	struct rq *rq = this_rq();
	struct rq_flags rf;

	rq_lock_irqsave(rq, &rf);
	check_published(rq);
	check_tasks(rq);
	check_stranded(rq);
	rq_unlock_irqrestore(rq, &rf);
}

static void check_all(void)
{
	int cpu;

	cpus_read_lock();
	for_each_online_cpu(cpu)
		smp_call_function_single(cpu, check_this_cpu, NULL, true);
	cpus_read_unlock();
}

static void print_new(void)
{
	enum kind kind;

	for (kind = 0; kind < KINDS; kind++) {
		struct findings *f = &findings[kind];

		/* Pairs with the release in expect(). */
		if (!smp_load_acquire(&f->ready) || f->printed)
			continue;
		f->printed = true;
		pr_err("CPU %d: %s: %d, expected %d\n", f->cpu, what[kind],
		       f->found, f->expected);
	}
}

/* Serialises the checks below, and changes of the switch. */
static DEFINE_MUTEX(shard_debug_mutex);

static void check_and_print(void)
{
	lockdep_assert_held(&shard_debug_mutex);
	check_all();
	print_new();
}

static void check_now_and_then(struct work_struct *unused);
static DECLARE_DELAYED_WORK(shard_debug_work, check_now_and_then);

static void check_now_and_then(struct work_struct *unused)
{
	guard(mutex)(&shard_debug_mutex);
	if (!shard_debug_on)
		return;
	check_and_print();
	schedule_delayed_work(&shard_debug_work, PERIOD);
}

static int check_show(struct seq_file *m, void *unused)
{
	long errors = 0;
	enum kind kind;

	guard(mutex)(&shard_debug_mutex);
	check_and_print();
	for (kind = 0; kind < KINDS; kind++)
		errors += atomic_long_read(&findings[kind].errors);
	seq_printf(m, "errors %ld checks %ld\n", errors,
		   atomic_long_read(&nr_checks));
	seq_printf(m, "running %d\n", shard_debug_on);
	seq_printf(m, "stranded %u ms\n",
		   jiffies_to_msecs(atomic_long_read(&stranded_longest)));
	for (kind = 0; kind < KINDS; kind++)
		seq_printf(m, "%ld %s\n",
			   atomic_long_read(&findings[kind].errors),
			   what[kind]);
	return 0;
}

static ssize_t check_write(struct file *file, const char __user *from,
			   size_t len, loff_t *pos)
{
	bool on;
	int err = kstrtobool_from_user(from, len, &on);

	if (err)
		return err;
	guard(mutex)(&shard_debug_mutex);
	if (on) {
		shard_debug_on = true;
		schedule_delayed_work(&shard_debug_work, 0);
	} else {
		/* The work sees this, and does not requeue itself. */
		shard_debug_on = false;
	}
	return len;
}

DEFINE_SHOW_STORE_ATTRIBUTE(check);

static int __init shard_debug_init(void)
{
	struct dentry *dir = debugfs_create_dir("schedshard", NULL);

	debugfs_create_file("check", 0644, dir, NULL, &check_fops);
	return 0;
}

late_initcall(shard_debug_init);
