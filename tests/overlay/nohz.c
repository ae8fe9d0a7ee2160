// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Not in this copy of Linux's: times, energy and asymmetric capacities, the new-idle balance, and
 * the balancer's work on load. The balancer reports each CPU that it balances for.
 */
#include "nohz.h"

#define STATS	1u
#define BALANCE 2u
#define NEXT	4u
#define ALL	(STATS | BALANCE | NEXT)

struct nohz *nohz;

bool nohz_machine(const struct shard_plan *plan)
{
	schedshard_plan = plan;
	nohz = port_alloc(sizeof(*nohz), -1);
	if (!nohz)
		return false;
	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++) {
		struct rq *rq = port_alloc(sizeof(*rq), -1);

		if (!rq)
			return false;
		rq->cpu = cpu;
		rq->online = 1;
		shim_rq[cpu] = rq;
	}
	nohz->idle_cpus_mask = nohz_idle_alloc();
	return true;
}

static bool idle_cpu(const struct rq *rq)
{
	return !READ_ONCE(rq->nr_running);
}

void nohz_enter(struct rq *rq)
{
	WRITE_ONCE(rq->nr_running, 0);
	if (!rq->online)
		return;
	WRITE_ONCE(rq->has_blocked_load, 1);
	smp_wmb();
	if (!rq->nohz_tick_stopped) {
		rq->nohz_tick_stopped = 1;
		sbm_set_at(&rq->nohz_place);
		WRITE_ONCE(nohz->needs_update, 1);
	}
	WRITE_ONCE(nohz->has_blocked, 1);
}

void nohz_exit(struct rq *rq)
{
	if (!rq->nohz_tick_stopped)
		return;
	rq->nohz_tick_stopped = 0;
	sbm_clear_at(&rq->nohz_place);
}

static s32 find_new_ilb(void)
{
	u32 cpu;

	sbm_for_each_cpu_and(cpu, it, nohz->idle_cpus_mask, cpumask_bits(cpu_active_mask))
		if (idle_cpu(cpu_rq(cpu)))
			return (s32)cpu;
	return -1;
}

s32 nohz_kick(struct rq *rq)
{
	u32 flags = 0;
	s32 ilb;

	nohz_exit(rq);
	if (READ_ONCE(nohz->has_blocked))
		flags = STATS;
	if (sbm_seems_empty(nohz->idle_cpus_mask))
		return -1;
	if (READ_ONCE(rq->nr_running) >= 2)
		flags = STATS | BALANCE;
	if (READ_ONCE(nohz->needs_update))
		flags |= NEXT;
	if (!flags)
		return -1;
	ilb = find_new_ilb();
	if (ilb < 0)
		return -1;
	rq = cpu_rq((u32)ilb);
	if ((READ_ONCE(rq->nohz_flags) & flags) == flags)
		return ilb;
	__atomic_fetch_or(&rq->nohz_flags, flags, __ATOMIC_SEQ_CST);
	return ilb;
}

void nohz_kicked(struct rq *rq, void (*looked)(struct rq *rq))
{
	u32 flags = __atomic_fetch_and(&rq->nohz_flags, ~ALL, __ATOMIC_SEQ_CST);
	bool blocked = false;
	u32 cpu;

	if (!flags || !idle_cpu(rq))
		return;
	if (flags & STATS)
		WRITE_ONCE(nohz->has_blocked, 0);
	if (flags & NEXT)
		WRITE_ONCE(nohz->needs_update, 0);
	smp_mb();
	for_each_nohz_idle_after(cpu, it, nohz->idle_cpus_mask, rq->cpu)
	{
		struct rq *other = cpu_rq(cpu);

		if (!idle_cpu(other))
			continue;
		if (flags & STATS && READ_ONCE(other->has_blocked_load) &&
		    sbm_test(nohz->idle_cpus_mask, other->cpu)) {
			WRITE_ONCE(other->has_blocked_load, 0);
			blocked = true;
		}
		looked(other);
	}
	if (blocked)
		WRITE_ONCE(nohz->has_blocked, 1);
}
