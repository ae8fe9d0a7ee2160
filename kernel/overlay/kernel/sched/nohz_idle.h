/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPUs whose tick is stopped: one bit a CPU, in the line of its shard.
 *
 * Who writes: a CPU when it stops its tick in the idle loop, and at its first busy tick after
 * that (or when it is taken off line): its own bit, interrupts off, no lock. Who reads: every busy
 * CPU in its tick asks whether the set is empty, which is a load of the summary; who kicks and who
 * balances walk it.
 *
 * Emptiness. The counter that used to answer it was written by every stopped and restarted tick
 * of the machine. A tick reads the summary only (sbm_seems_empty()): the lines, which idle CPUs
 * write, are for those who balance. The summary is written when the first CPU of a shard comes, and
 * when somebody searched after the last one left. A tick may take an empty set for an occupied one
 * until then. It goes on to look at nohz.next_balance, as it does when a CPU is idle; the search
 * for a balancer then finds nobody, and puts the summary right.
 *
 * The order of bit and flags. A CPU that goes idle sets its bit, then nohz.needs_update and
 * the flag of blocked load; the balancer clears the flags, then reads the set. A full barrier on
 * each side makes sure that the balancer sees the bit, or the flag is 1 when both are done. The
 * balancer's is its smp_mb(). The other side's is in sbm_set_at(): shard_summary_note_bit() has it
 * between the bit and all that follows. No smp_mb__after_atomic() is left in fair.c that would need
 * an atomic operation next to it.
 *
 * The balancer reads the summary before the bit. A setter that finds its shard clear in the summary
 * marks it, and shard_summary_mark() has a barrier before the flags. A setter that finds it marked
 * has none: on arm64 its flags may be seen before its look at the summary. The balancer may then
 * take those flags, and pass the shard while the summary calls it empty. In that case another
 * setter marked the shard afterwards, or there was nothing to find; that setter raises the flags
 * behind its mark, and the next balance sees both bits.
 */
#ifndef _KERNEL_SCHED_NOHZ_IDLE_H
#define _KERNEL_SCHED_NOHZ_IDLE_H

#ifdef CONFIG_NO_HZ_COMMON

#include <linux/schedshard/machine.h>
#include <linux/schedshard/sbm.h>

/**
 * nohz_idle_alloc() - make the set, empty, and let each run queue know its place there
 *
 * Context: sched_init(). Panics without memory: this early nothing else could be done.
 * Return: the set, which has a summary.
 */
static inline struct sbm *__init nohz_idle_alloc(void)
{
	struct sbm *set = sbm_alloc(schedshard_plan, SBM_SUMMARY);
	int cpu;

	if (!set)
		panic("sched: no memory for the set of idle CPUs\n");
	for_each_possible_cpu(cpu)
		cpu_rq(cpu)->nohz_place = sbm_place(set, cpu);
	return set;
}

/* The CPU that follows in order of topology, around the machine. */
static inline u32 nohz_idle_after(const struct sbm *set, u32 cpu)
{
	const struct shard_plan *plan = set->plan;
	u32 idx = plan->slot[cpu].idx + 1;

	return plan->idx_to_cpu[idx < plan->nr_possible ? idx : 0];
}

/* All idle CPUs, nearest successors of @this first, @this last. */
#define for_each_nohz_idle_after(cpu, it, set, this) \
	sbm_for_each_cpu_wrap(cpu, it, set, nohz_idle_after(set, this))

#endif /* CONFIG_NO_HZ_COMMON */
#endif /* _KERNEL_SCHED_NOHZ_IDLE_H */
