/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef _KERNEL_SCHED_NOHZ_IDLE_H
#define _KERNEL_SCHED_NOHZ_IDLE_H

#include <linux/bitops.h>
#include <linux/sched/cpu_slot.h>

/*
 * The CPUs that have stopped their ticks: a bit for each, in the line of its
 * shard. The pointer is not in struct nohz: all CPUs write to that line.
 *
 * A CPU that joins has smp_mb__after_atomic() between its bit and the flags of
 * nohz. It pairs with smp_mb() in _nohz_idle_balance(), between the clearing of
 * the flags and the walk: the walk finds the CPU, or the flags are set again.
 * So a walk reads each shard. A summary would need barriers of its own.
 */
static unsigned long *nohz_idle __ro_after_init;

static inline unsigned int nohz_idle_bit(int cpu)
{
	unsigned int place = cpu_slot[cpu] % SHARD_SLOTS;

	return (cpu_slot[cpu] - place) * 8 + place;
}

/* The first CPU from @slot to before @end in @shards (see cpu_shard_bit()). */
static inline int nohz_idle_from(unsigned int slot, unsigned int end,
				 u64 shards)
{
	unsigned int first, place;

	for (; slot < end; slot = first + SHARD_SLOTS) {
		first = slot - slot % SHARD_SLOTS;
		if (!(shards >> first / SHARD_SLOTS % 64 & 1))
			continue;
		place = find_next_bit(nohz_idle + first / sizeof(*nohz_idle),
				      SHARD_SLOTS, slot - first);
		if (place < SHARD_SLOTS)
			return first + place < end ? cpu_slot_cpu[first + place]
						   : nr_cpu_ids;
	}
	return nr_cpu_ids;
}

/* After @cpu (-1: the first), from @start to the end and on to before @start. */
static inline int nohz_idle_next(int cpu, unsigned int start, u64 shards)
{
	unsigned int slot = cpu < 0 ? start : cpu_slot[cpu] + 1;

	if (cpu < 0 || slot > start) {
		cpu = nohz_idle_from(slot, nr_cpu_slots, shards);
		if (cpu < nr_cpu_ids)
			return cpu;
		slot = 0;
	}
	return nohz_idle_from(slot, start, shards);
}

#define for_each_nohz_idle(cpu, start, shards)                              \
	for ((cpu) = nohz_idle_next(-1, start, shards); (cpu) < nr_cpu_ids; \
	     (cpu) = nohz_idle_next(cpu, start, shards))

#endif /* _KERNEL_SCHED_NOHZ_IDLE_H */
