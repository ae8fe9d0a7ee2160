/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef _KERNEL_SCHED_RTO_H
#define _KERNEL_SCHED_RTO_H

#include <linux/cpumask.h>
#include <linux/sched/cpu_slot.h>

/* What a run queue publishes about RT tasks that wait there, by slot. */
#define RTO_NONE   0
#define RTO_STAYS  1 /* they may run in the shard of their CPU only */
#define RTO_LEAVES 2 /* one may run in a few others, each of which counts it */
#define RTO_ANY	   3 /* one may run in more shards than that */

#define RTO_FEW	     4
#define RTO_COUNTERS (SHARD_SLOTS / sizeof(atomic_t))

/*
 * The overloaded queues of a root domain: a byte per CPU, and a line of
 * counters per shard. A pull reads both lines of its shard, and other lines of
 * bytes only where a queue has a task that may come.
 *
 * The lock of the queue serialises what it publishes. rto_publish() orders
 * nothing: a push has a full barrier before it searches a CPU for next_task,
 * and a pull begins with one. They are P2 and F2 of cpupri.c. While a task
 * waits, its queue publishes more shards, never fewer.
 */
struct rto {
	u8 *state ____cacheline_aligned; /* by slot */
	/*
	 * By shard, then by the shard of the queue modulo RTO_COUNTERS: queues
	 * at RTO_LEAVES or RTO_ANY with a task that may come.
	 */
	atomic_t *from;
	atomic_t any ____cacheline_aligned; /* number of queues at RTO_ANY */
};

/* What a queue has published, for itself; bits as in cpu_shard_bit(). */
struct rto_rq {
	u64 shards;   /* where waiting tasks may run; 0: none waits */
	u64 counting; /* the shards that count the queue */
};

/* @shards without that of @cpu, if no other shard has the same bit. */
static inline u64 rto_abroad(int cpu, u64 shards)
{
	return nr_cpu_slots > 64 * SHARD_SLOTS ? shards
					       : shards & ~cpu_shard_bit(cpu);
}

static inline u8 rto_state(int cpu, u64 shards)
{
	u64 others = rto_abroad(cpu, shards);

	if (!others)
		return shards ? RTO_STAYS : RTO_NONE;
	return hweight64(others) > RTO_FEW ? RTO_ANY : RTO_LEAVES;
}

static inline atomic_t *rto_counter(const struct rto *rto, unsigned int to,
				    int cpu)
{
	unsigned int shard = cpu_slot[cpu] / SHARD_SLOTS;

	return &rto->from[to * RTO_COUNTERS + shard % RTO_COUNTERS];
}

/* Make @shards (modulo 64) count the queue of @cpu, or stop counting it. */
static inline void rto_count(struct rto *rto, int cpu, u64 shards, int add)
{
	unsigned int to;

	for (; shards; shards &= shards - 1)
		for (to = __ffs64(shards); to < nr_cpu_slots / SHARD_SLOTS;
		     to += 64)
			atomic_add(add, rto_counter(rto, to, cpu));
}

/*
 * Where a task may run: the shards and the places of its CPUs. On a CPU of another shard or place
 * no search can find such a task.
 */
static inline void rto_reach(const struct cpumask *mask, u64 *shards,
			     u64 *places)
{
	int cpu;

	*shards = 0;
	*places = 0;
	for_each_cpu(cpu, mask) {
		*shards |= cpu_shard_bit(cpu);
		*places |= cpu_place_bit(cpu);
	}
}

static inline bool rto_reaches(u64 shards, u64 places, int cpu)
{
	return shards & cpu_shard_bit(cpu) && places & cpu_place_bit(cpu);
}

/* Publish the @shards where tasks that wait on @cpu may run; 0: none waits. */
static inline void rto_publish(struct rto *rto, int cpu, struct rto_rq *own,
			       u64 shards)
{
	u64 old_shards = own->shards, counting = own->counting;
	u8 state, old;
	int any;

	if (likely(shards == old_shards))
		return;
	own->shards = shards;
	if (likely(!rto_abroad(cpu, shards | old_shards))) {
		WRITE_ONCE(rto->state[cpu_slot[cpu]],
			   shards ? RTO_STAYS : RTO_NONE);
		return;
	}

	state = rto_state(cpu, shards);
	old = rto_state(cpu, old_shards);
	/* At RTO_ANY the shards that counted the queue still count it. */
	if (state == RTO_LEAVES)
		own->counting = rto_abroad(cpu, shards);
	else if (state != RTO_ANY)
		own->counting = 0;

	if (state != old)
		WRITE_ONCE(rto->state[cpu_slot[cpu]], state);
	rto_count(rto, cpu, own->counting & ~counting, 1);
	rto_count(rto, cpu, counting & ~own->counting, -1);
	any = (state == RTO_ANY) - (old == RTO_ANY);
	if (any)
		atomic_add(any, &rto->any);
}

/*
 * The shards, modulo RTO_COUNTERS, from which a task may come to @this_cpu, as
 * a bit each. ~0: all of them.
 */
static inline u64 rto_from(const struct rto *rto, int this_cpu)
{
	const atomic_t *counter =
		&rto->from[cpu_slot[this_cpu] / SHARD_SLOTS * RTO_COUNTERS];
	unsigned int i;
	u64 from = 0;

	if (nr_cpu_slots == SHARD_SLOTS)
		return 0;
	if (atomic_read(&rto->any))
		return ~0ull;
	/* Two at a time, because most are 0. */
	for (i = 0; i < RTO_COUNTERS; i += 2)
		from |= READ_ONCE(*(const u64 *)&counter[i]);
	if (likely(!from))
		return 0;
	from = 0;
	for (i = 0; i < RTO_COUNTERS; i++)
		if (atomic_read(&counter[i]))
			from |= 1ull << i;
	return from;
}

/* The first slot from @slot to before @end with a state of at least @least. */
static inline unsigned int rto_find(const struct rto *rto, unsigned int slot,
				    unsigned int end, u8 least)
{
	for (; slot < end; slot++) {
		/* Eight at a time, because most are 0. */
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
	return slot < nr_cpu_slots ? cpu_slot_cpu[slot] : nr_cpu_ids;
}

/*
 * As rto_next(), but only CPUs that may have a task for @this_cpu, those of its
 * shard first. @from: what rto_from() returned.
 */
static inline int rto_next_for(const struct rto *rto, int cpu, int this_cpu,
			       u64 from)
{
	unsigned int own = cpu_slot[this_cpu] / SHARD_SLOTS, shard, slot, end;

	slot = cpu < 0 ? own * SHARD_SLOTS : cpu_slot[cpu] + 1;
	shard = cpu < 0 ? own : cpu_slot[cpu] / SHARD_SLOTS;
	do {
		if (shard == own || from >> shard % RTO_COUNTERS & 1) {
			end = (shard + 1) * SHARD_SLOTS;
			slot = rto_find(rto, slot, end,
					shard == own ? RTO_STAYS : RTO_LEAVES);
			if (slot < end)
				return cpu_slot_cpu[slot];
		}
		slot = (shard + 1) * SHARD_SLOTS % nr_cpu_slots;
		shard = slot / SHARD_SLOTS;
	} while (from && shard != own);
	return nr_cpu_ids;
}

/*
 * Does another CPU have a task that may come here? For a CPU whose level has
 * dropped. @from: where to store what rto_from() returns.
 */
static inline bool rto_others(const struct rto *rto, int this_cpu, u64 *from)
{
	int cpu;

	smp_mb(); /* F2: this CPU stored its level before */
	*from = rto_from(rto, this_cpu);
	cpu = rto_next_for(rto, -1, this_cpu, *from);
	if (cpu == this_cpu)
		cpu = rto_next_for(rto, cpu, this_cpu, *from);
	return cpu < nr_cpu_ids;
}

#define for_each_rto_cpu(cpu, rto, this_cpu, from)          \
	for ((cpu) = rto_next_for(rto, -1, this_cpu, from); \
	     (cpu) < nr_cpu_ids;                            \
	     (cpu) = rto_next_for(rto, cpu, this_cpu, from))

static inline void rto_cleanup(struct rto *rto)
{
	kfree(rto->state);
	kfree(rto->from);
}

/* -ENOMEM, or 0: no queue is overloaded. */
static inline int rto_init(struct rto *rto)
{
	rto->state = cpu_slot_bytes(RTO_NONE);
	rto->from = (atomic_t *)cpu_slot_bytes(0);
	if (rto->state && rto->from)
		return 0;
	rto_cleanup(rto);
	return -ENOMEM;
}

#endif /* _KERNEL_SCHED_RTO_H */
