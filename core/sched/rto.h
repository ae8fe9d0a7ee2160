/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef _KERNEL_SCHED_RTO_H
#define _KERNEL_SCHED_RTO_H

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/sched/cpu_slot.h>

/* What a run queue publishes about RT tasks that wait there. */
#define RTO_NONE   0
#define RTO_STAYS  1 /* they may run in the shard of their CPU only */
#define RTO_LEAVES 2 /* one of them may run elsewhere */

/*
 * The overloaded queues of a root domain: a byte per CPU, by slot. A pull reads
 * the line of its own shard, and the others only while a task there may come.
 *
 * The lock of the queue serialises stores of its byte. rto_set() orders nothing:
 * a push has a full barrier before it searches a CPU for next_task, and a pull
 * begins with one. They are P2 and F2 of cpupri.c.
 */
struct rto {
	u8 *state ____cacheline_aligned;
	atomic_t leaving; /* number of queues at RTO_LEAVES */
};

static inline void rto_set(struct rto *rto, int cpu, u8 state)
{
	u8 *own = &rto->state[cpu_slot[cpu]], old = READ_ONCE(*own);

	WRITE_ONCE(*own, state);
	if (old != RTO_LEAVES && state == RTO_LEAVES)
		atomic_inc(&rto->leaving);
	if (old == RTO_LEAVES && state != RTO_LEAVES)
		atomic_dec(&rto->leaving);
}

/* The first slot from @slot to before @end with a state of at least @least. */
static inline unsigned int rto_find(const struct rto *rto, unsigned int slot,
				    unsigned int end, u8 least)
{
	for (; slot < end; slot++) {
		/* Eight at once, as most are 0. */
		while (slot % 8 == 0 && slot < end &&
		       !READ_ONCE(*(const u64 *)&rto->state[slot]))
			slot += 8;
		if (slot < end && READ_ONCE(rto->state[slot]) >= least)
			return slot;
	}
	return end;
}

/* The overloaded CPU after @cpu (-1: the first) by slot; nr_cpu_ids: none. */
static inline int rto_next(const struct rto *rto, int cpu)
{
	unsigned int slot = cpu < 0 ? 0 : cpu_slot[cpu] + 1;

	slot = rto_find(rto, slot, nr_cpu_slots, RTO_STAYS);
	return slot < nr_cpu_slots ? slot_cpu[slot] : nr_cpu_ids;
}

/* The same, of those that may have a task for @this_cpu. */
static inline int rto_next_for(const struct rto *rto, int cpu, int this_cpu)
{
	unsigned int own = cpu_slot[this_cpu] / SHARD_SLOTS * SHARD_SLOTS;
	unsigned int slot = cpu < 0 ? 0 : cpu_slot[cpu] + 1, found;
	bool leaving = atomic_read(&rto->leaving);

	if (slot < own) {
		found = leaving ? rto_find(rto, slot, own, RTO_LEAVES) : own;
		if (found < own)
			return slot_cpu[found];
		slot = own;
	}
	found = own + SHARD_SLOTS;
	if (slot < found) {
		slot = rto_find(rto, slot, found, RTO_STAYS);
		if (slot < found)
			return slot_cpu[slot];
	}
	if (leaving)
		slot = rto_find(rto, slot, nr_cpu_slots, RTO_LEAVES);
	return leaving && slot < nr_cpu_slots ? slot_cpu[slot] : nr_cpu_ids;
}

/* Does another CPU have a task that may come here? For a CPU that fell. */
static inline bool rto_others(const struct rto *rto, int this_cpu)
{
	int cpu;

	smp_mb(); /* F2: this CPU stored its level before */
	cpu = rto_next_for(rto, -1, this_cpu);
	if (cpu == this_cpu)
		cpu = rto_next_for(rto, cpu, this_cpu);
	return cpu < nr_cpu_ids;
}

#define for_each_rto_cpu(cpu, rto, this_cpu)                              \
	for ((cpu) = rto_next_for(rto, -1, this_cpu); (cpu) < nr_cpu_ids; \
	     (cpu) = rto_next_for(rto, cpu, this_cpu))

static inline int rto_init(struct rto *rto)
{
	rto->state = cpu_slot_bytes(RTO_NONE);
	return rto->state ? 0 : -ENOMEM;
}

static inline void rto_cleanup(struct rto *rto)
{
	kfree(rto->state);
}

#endif /* _KERNEL_SCHED_RTO_H */
