// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keep the threads of a process together when load balancing migrates them.
 *
 * Between two last-level caches, one of which the process prefers, occupancy_verdict() decides from
 * their fill. A pass of the balancer adds up the fill once, over the CPUs in use in the
 * destination's root domain: a partition can fill only its own part of a cache.
 *
 * Balancing acts on imbalance, and does not see separated threads as one. So a CPU notes in its
 * tick which cache its running thread prefers, if not its own. An idle CPU of that cache that finds
 * no imbalance takes one such thread. The note is a hint, which only its CPU writes. The idle CPU
 * reads the thread's preference again, and moves the thread under the lock of its queue.
 *
 * Placement does not keep a thread that may not use all of its cache: its CPU may be the only one
 * of the cache that it may use. Domains of unequal CPUs keep their own rules.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/sched/signal.h>
#include "cache_internal.h"

static struct occupancy_limits limits = OCCUPANCY_LIMITS;

/* Under RCU, or the lock of the thread's queue. */
static s32 preferred_llc(struct task_struct *p)
{
	struct sched_cache *c =
		rcu_dereference_check(p->signal->sched_cache.cache, rcu_read_lock_sched_held());

	return c ? READ_ONCE(c->preferred) : -1;
}

static void measure_one(s32 llc, const struct cpumask *span, struct occupancy_load *load)
{
	const struct shard_plan *plan = schedshard_plan;
	const struct sched_cache_llc *range = &sched_cache_llcs[llc];
	u32 shard, pos;

	*load = (struct occupancy_load){};
	for (shard = range->first_shard; shard < range->end_shard; shard++) {
		for (pos = 0; pos < plan->shard[shard].nr_cpus; pos++) {
			u32 cpu = plan->shard_cpus[shard][pos];

			if (!cpu_active(cpu) || !cpumask_test_cpu(cpu, span))
				continue;
			load->util += cpu_util_cfs(cpu);
			load->capacity += READ_ONCE(cpu_rq(cpu)->cpu_capacity);
		}
	}
}

static void measure(struct sched_cache_pass *pass, s32 src_llc, s32 dst_llc, int dst_cpu)
{
	const struct cpumask *span = cpu_rq(dst_cpu)->rd->span;

	if (pass->src_llc == src_llc + 1 && pass->dst_llc == dst_llc + 1)
		return;
	measure_one(src_llc, span, &pass->src);
	measure_one(dst_llc, span, &pass->dst);
	pass->src_llc = src_llc + 1;
	pass->dst_llc = dst_llc + 1;
}

static u64 util_of(struct task_struct *p)
{
	return READ_ONCE(p->se.avg.util_avg);
}

/* May the thread use every CPU of its cache? */
static bool may_use_cache(struct task_struct *p, int cpu)
{
	struct sched_domain *sd = rcu_dereference(per_cpu(sd_llc, cpu));

	return sd && cpumask_subset(sched_domain_span(sd), p->cpus_ptr);
}

static enum occupancy_verdict judge(struct sched_cache_pass *pass, struct sched_domain *sd,
				    struct task_struct *p, int src_cpu, int dst_cpu)
{
	s32 src_llc = sched_cache_llc_of(src_cpu), dst_llc = sched_cache_llc_of(dst_cpu);
	s32 preferred;

	if (src_llc == dst_llc || sd->flags & (SD_ASYM_CPUCAPACITY | SD_ASYM_PACKING))
		return OCCUPANCY_FREE;
	preferred = preferred_llc(p);
	if (preferred != dst_llc && (preferred != src_llc || !may_use_cache(p, src_cpu)))
		return OCCUPANCY_FREE;
	if (preferred == dst_llc && !sched_core_cookie_match(cpu_rq(dst_cpu), p))
		return OCCUPANCY_FREE;
	measure(pass, src_llc, dst_llc, dst_cpu);
	return occupancy_verdict(&pass->src, &pass->dst, util_of(p), preferred == dst_llc, &limits);
}

bool __sched_cache_refuses(struct sched_cache_pass *pass, struct sched_domain *sd,
			   struct task_struct *p, int src_cpu, int dst_cpu)
{
	enum occupancy_verdict verdict = judge(pass, sd, p, src_cpu, dst_cpu);

	/* Without imbalance no other thread moves. */
	return pass->stray ? verdict != OCCUPANCY_FAVOUR : verdict == OCCUPANCY_REFUSE;
}

bool __sched_cache_favours(struct sched_cache_pass *pass, struct sched_domain *sd,
			   struct task_struct *p, int src_cpu, int dst_cpu)
{
	return judge(pass, sd, p, src_cpu, dst_cpu) == OCCUPANCY_FAVOUR;
}

bool __sched_cache_keeps(struct sched_cache_pass *pass, struct sched_domain *sd, struct rq *src_rq,
			 int dst_cpu)
{
	struct task_struct *curr = rcu_dereference(src_rq->curr);

	return judge(pass, sd, curr, src_rq->cpu, dst_cpu) == OCCUPANCY_REFUSE;
}

/* The queue's CPU runs a thread that prefers the LLC of @dst_cpu and may go there. */
static bool is_stray(struct sched_cache_pass *pass, struct sched_domain *sd, struct rq *rq,
		     int dst_cpu)
{
	struct task_struct *curr;

	if (READ_ONCE(rq->cache_stray.llc) != sched_cache_llc_of(dst_cpu) + 1)
		return false;
	curr = rcu_dereference(rq->curr);
	return curr->sched_class == &fair_sched_class &&
	       cpumask_test_cpu(dst_cpu, curr->cpus_ptr) &&
	       judge(pass, sd, curr, rq->cpu, dst_cpu) == OCCUPANCY_FAVOUR;
}

struct sched_group *__sched_cache_find_group(struct sched_cache_pass *pass, struct sched_domain *sd,
					     const struct cpumask *cpus, int dst_cpu)
{
	struct sched_group *group;
	int cpu;

	/* The first group is the one of @dst_cpu. */
	for (group = sd->groups->next; group != sd->groups; group = group->next) {
		for_each_cpu_and(cpu, sched_group_span(group), cpus) {
			if (!is_stray(pass, sd, cpu_rq(cpu), dst_cpu))
				continue;
			pass->stray = cpu_rq(cpu);
			return group;
		}
	}
	return NULL;
}

void __sched_cache_moved(struct sched_cache_pass *pass, struct task_struct *p)
{
	u64 util = util_of(p);

	pass->src.util -= min(util, pass->src.util);
	pass->dst.util += util;
}

void __sched_cache_note_stray(struct rq *rq, struct task_struct *p)
{
	s32 preferred = preferred_llc(p), note = 0;

	lockdep_assert_rq_held(rq);
	if (preferred >= 0 && preferred != sched_cache_llc_of(cpu_of(rq)))
		note = preferred + 1;
	if (rq->cache_stray.llc != note)
		WRITE_ONCE(rq->cache_stray.llc, note);
}

static int __init cache_place_init(void)
{
	if (!sched_cache_dir)
		return 0;
	debugfs_create_u32("full_pct", 0644, sched_cache_dir, &limits.full_pct);
	debugfs_create_u32("imbalance_pct", 0644, sched_cache_dir, &limits.imbalance_pct);
	return 0;
}

/* After sched_cache_init(), which is linked earlier. */
late_initcall(cache_place_init);
