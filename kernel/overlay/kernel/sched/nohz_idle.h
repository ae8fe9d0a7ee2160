/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPUs with a stopped tick: one bit a CPU, in the line of its shard.
 *
 * Writers: a CPU sets its own bit when it stops its tick in the idle loop. It clears the bit at its
 * first busy tick; interrupts are off at both. sched_cpu_deactivate() clears it with interrupts on.
 * No lock. Readers: every busy CPU's tick reads the summary to see whether the set is empty. Kicks
 * and balancers walk the set.
 *
 * Emptiness. A tick reads the summary only (sbm_seems_empty()); only balancers read the lines,
 * which idle CPUs write. The first CPU of a shard to join writes the summary, and so does the first
 * search after the last one left. Until that search a tick may take an empty set for an occupied
 * one. It then looks at nohz.next_balance, as it does when a CPU is idle; the search for a balancer
 * finds no CPU, and corrects the summary.
 *
 * The order of bit and flags. A CPU that goes idle sets its bit, then nohz.needs_update and the
 * flag of blocked load. The balancer clears the flags, then reads the set. With a full barrier on
 * each side, the balancer sees the bit or the flag ends as 1. The balancer's is the smp_mb() in
 * _nohz_idle_balance(). The idle CPU's is in sbm_set_at(): shard_summary_note_bit() has it after
 * the bit, before the flags.
 *
 * The balancer reads the summary before the bit. The idle CPU marks its shard there, or finds it
 * marked. In both cases it has another full barrier before the flags (S5 in shard_summary.c), which
 * pairs with the same smp_mb(). So a balancer that clears these flags sees the shard marked.
 */
#ifndef _KERNEL_SCHED_NOHZ_IDLE_H
#define _KERNEL_SCHED_NOHZ_IDLE_H

#ifdef CONFIG_NO_HZ_COMMON

#include <linux/schedshard/machine.h>
#include <linux/schedshard/sbm.h>

/*
 * Make an empty set with a summary, and store in each run queue its place there. Context:
 * sched_init(). Panics without memory: no fallback exists this early.
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

/* The next CPU in order of topology; the first CPU follows the last. */
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
