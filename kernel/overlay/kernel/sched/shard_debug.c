// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the state that CPUs have published with their run queues.
 *
 * The scheduler writes levels and overload sets under the lock of their queue. So under that lock
 * they must agree with the queue exactly, on any CPU:
 *
 *  - the level of an online queue is rq_level(), that of an offline one CPUPRI_INVALID;
 *  - the bytes of an online queue in the overload sets agree with rq->rt.overloaded and
 *    rq->dl.overloaded; those of an offline one are 0;
 *  - rq->rt.overloaded is not 0 if a pushable task does not outrank rq->donor (else no CPU pulls
 *    it). It is 0 without pushable tasks (else CPUs look without need). If all pushable tasks
 *    outrank rq->donor, it is 0 as well, unless the CPU is about to reschedule; see rt_overload.h;
 *  - rq->rt.nr_wide counts the wide pushable tasks, and each has its own flag set;
 *  - the set's summary names the shard of a wide queue, as overload_set() promises on return.
 *
 * A CPU writes its bit in the idle set with interrupts off, except when it goes offline. So an
 * interrupt on that CPU checks the bit, and two differences in a row make an error.
 *
 * No comparison of copies sees a task that waits while another CPU, which it may use, runs
 * something lower. The check reports the longest time, in milliseconds, for which every look in a
 * row found a CPU's best waiting task in that state. That is no error by itself: a CPU of an
 * emulator may stop for long.
 *
 * No check prints under a lock of the scheduler, as printing may wake a task. The check keeps the
 * first error of each kind; the reader of the file prints it, or the work that checks.
 */
#define pr_fmt(fmt) "schedshard: " fmt

#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kstrtox.h>
#include <linux/mmu_context.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/sched/isolation.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include <linux/schedshard/machine.h>
#include <linux/schedshard/overload.h>
#include <linux/schedshard/sbm.h>
#include "sched.h"
#include "shard_debug.h"

DEFINE_STATIC_KEY_FALSE(shard_debug_on);

#define PERIOD (HZ / 10)

enum kind {
	LEVEL,
	LEVEL_OFFLINE,
	RT_BYTE,
	RT_MISSED,
	RT_IN_VAIN,
	RT_WIDE,
	RT_SUMMARY,
	DL_BYTE,
	DL_SUMMARY,
	IDLE_BIT,
	IDLE_SUMMARY,
	KINDS,
};

static const char *const what[KINDS] = {
	[LEVEL] = "level of a queue",
	[LEVEL_OFFLINE] = "level of a queue that is off line",
	[RT_BYTE] = "byte in the RT overload set",
	[RT_MISSED] = "an RT task waits, and the queue does not say so",
	[RT_IN_VAIN] = "no RT task is pushable, and the queue says so",
	[RT_WIDE] = "number of wide RT tasks",
	[RT_SUMMARY] = "summary of the RT overload set does not name the shard",
	[DL_BYTE] = "byte in the deadline overload set",
	[DL_SUMMARY] = "summary of the deadline overload set does not name the shard",
	[IDLE_BIT] = "bit in the idle set",
	[IDLE_SUMMARY] = "summary of the idle set does not name the shard",
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
static DEFINE_PER_CPU(bool, idle_differed);
static struct sbm *idle_set __ro_after_init;

void __init shard_debug_idle(struct sbm *set)
{
	idle_set = set;
}

static void expect(enum kind kind, int cpu, int found, int expected)
{
	struct findings *f = &findings[kind];

	atomic_long_inc(&nr_checks);
	if (found == expected)
		return;
	atomic_long_inc(&f->errors);
	/* Needs no order: it only picks the CPU that writes the rest, which "ready" publishes. */
	if (atomic_cmpxchg(&f->claimed, 0, 1))
		return;
	f->cpu = cpu;
	f->found = found;
	f->expected = expected;
	/* Pairs with the acquire in print_new(), which else may print fields not yet written. */
	smp_store_release(&f->ready, true);
}

/* Does the summary name the shard of a CPU that is in the set? */
static void expect_named(enum kind kind, const struct shard_summary *summary, int cpu)
{
	if (summary)
		expect(kind, cpu, shard_summary_test(summary, schedshard_plan->slot[cpu].shard),
		       true);
}

static void check_overload(struct rq *rq, const struct overload *set, int state, enum kind byte,
			   enum kind summary)
{
	if (!rq->online)
		state = 0;
	expect(byte, rq->cpu, bytemap_get(set->map, rq->cpu), state);
	if (state == OVERLOAD_BYTE_WIDE)
		expect_named(summary, set->summary, rq->cpu);
}

/* Check one queue's published state. Its lock, which the caller holds, keeps its root domain. */
static void check_published(struct rq *rq)
{
	struct root_domain *rd = rq->rd;
	int level = cpupri_get(&rd->cpupri, rq->cpu);

	if (rq->online)
		expect(LEVEL, rq->cpu, level, rq_level(rq));
	else
		expect(LEVEL_OFFLINE, rq->cpu, level, CPUPRI_INVALID);
	check_overload(rq, rd->rto, rq->rt.overloaded, RT_BYTE, RT_SUMMARY);
	check_overload(rq, rd->dlo, rq->dl.overloaded ? OVERLOAD_BYTE_WIDE : 0, DL_BYTE,
		       DL_SUMMARY);
}

void __shard_debug_rq(struct rq *rq)
{
	lockdep_assert_rq_held(rq);
	check_published(rq);
}

static void check_tasks(struct rq *rq)
{
	int waiting = 0, wide = 0, counted = 0;
	struct task_struct *p;

	plist_for_each_entry(p, &rq->rt.pushable_tasks, pushable_tasks) {
		waiting += p->prio >= rq->donor->prio;
		wide += rt_task_is_wide(rq, p);
		counted += p->sched_rt_wide;
	}
	if (waiting)
		expect(RT_MISSED, rq->cpu, !rq->rt.overloaded, false);
	else if (plist_head_empty(&rq->rt.pushable_tasks) || !test_tsk_need_resched(rq->curr))
		expect(RT_IN_VAIN, rq->cpu, rq->rt.overloaded, 0);
	expect(RT_WIDE, rq->cpu, rq->rt.nr_wide, wide);
	expect(RT_WIDE, rq->cpu, counted, wide);
	if (rq->rt.overloaded)
		expect(RT_WIDE, rq->cpu, rq->rt.overloaded == OVERLOAD_BYTE_WIDE, wide > 0);
}

/*
 * The best task that waits on a CPU although another CPU would run it at once. One sighting means
 * little, as a CPU may be about to push or pull it. @ran shows whether it ran in between.
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
	return p->prio >= rq->donor->prio && !is_migration_disabled(p) && rt_find_lower(rq, p);
}

static void check_stranded(struct rq *rq)
{
	struct stranded *s = this_cpu_ptr(&stranded), now = {};
	struct plist_head *tasks = &rq->rt.pushable_tasks;
	struct task_struct *p;

	if (rq->online && !plist_head_empty(tasks)) {
		p = plist_first_entry(tasks, struct task_struct, pushable_tasks);
		if (is_stranded(rq, p))
			now = (struct stranded){ p->pid, p->se.sum_exec_runtime, jiffies };
	}
	if (now.pid && now.pid == s->pid && now.ran == s->ran)
		atomic_long_set(&stranded_longest, max(atomic_long_read(&stranded_longest),
						       (long)(now.since - s->since)));
	else
		*s = now;
}

#ifdef CONFIG_NO_HZ_COMMON
/* This CPU's bit; interrupts are off. */
static void check_idle_bit(struct rq *rq)
{
	bool in = sbm_test(idle_set, rq->cpu), differs = in != rq->nohz_tick_stopped;

	if (differs && __this_cpu_read(idle_differed))
		expect(IDLE_BIT, rq->cpu, in, rq->nohz_tick_stopped);
	else
		atomic_long_inc(&nr_checks);
	__this_cpu_write(idle_differed, differs);
	if (in)
		expect_named(IDLE_SUMMARY, idle_set->summary, rq->cpu);
}
#else
static void check_idle_bit(struct rq *rq) { }
#endif

/* On the CPU itself, interrupts off. */
static void check_this_cpu(void *unused)
{
	struct rq *rq = this_rq();
	struct rq_flags rf;

	check_idle_bit(rq);
	rq_lock_irqsave(rq, &rf);
	check_published(rq);
	check_tasks(rq);
	check_stranded(rq);
	rq_unlock_irqrestore(rq, &rf);
}

/* The queue of an offline CPU is empty, and must have published that. */
static void check_absent(int cpu)
{
	struct rq *rq = cpu_rq(cpu);
	struct rq_flags rf;

	rq_lock_irqsave(rq, &rf);
	check_published(rq);
	rq_unlock_irqrestore(rq, &rf);
}

static void check_all(void)
{
	int cpu;

	cpus_read_lock();
	for_each_possible_cpu(cpu) {
		if (cpu_online(cpu))
			smp_call_function_single(cpu, check_this_cpu, NULL, true);
		else
			check_absent(cpu);
	}
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
		pr_err("CPU %d: %s: %d, expected %d\n", f->cpu, what[kind], f->found, f->expected);
	}
}

/* Serialises the checks below with each other and with changes of the switch. */
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
	if (!static_key_enabled(&shard_debug_on))
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
	seq_printf(m, "errors %ld checks %ld\n", errors, atomic_long_read(&nr_checks));
	seq_printf(m, "running %d\n", static_key_enabled(&shard_debug_on));
	seq_printf(m, "stranded %u ms\n", jiffies_to_msecs(atomic_long_read(&stranded_longest)));
	for (kind = 0; kind < KINDS; kind++)
		seq_printf(m, "%ld %s\n", atomic_long_read(&findings[kind].errors), what[kind]);
	return 0;
}

static ssize_t check_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	bool on;
	int err = kstrtobool_from_user(from, len, &on);

	if (err)
		return err;
	guard(mutex)(&shard_debug_mutex);
	if (on) {
		static_branch_enable(&shard_debug_on);
		schedule_delayed_work(&shard_debug_work, 0);
	} else {
		/* The work sees it, and does not requeue itself. */
		static_branch_disable(&shard_debug_on);
	}
	return len;
}

DEFINE_SHOW_STORE_ATTRIBUTE(check);

static int __init shard_debug_init(void)
{
	struct dentry *dir = debugfs_lookup("schedshard", NULL);

	debugfs_create_file("check", 0644, dir, NULL, &check_fops);
	dput(dir);
	return 0;
}

/* After report.c made the directory. */
late_initcall(shard_debug_init);
