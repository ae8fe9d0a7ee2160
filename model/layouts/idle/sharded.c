// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The idle set as a sharded bitmap: the published prototype in two forms, and schedshard's in four.
 *
 *   sbm-first      no counter; a tick does not check whether the set is empty. The balancer is
 *                  the first CPU in topology order, and its walk begins there, with itself
 *   sbm-wrap       the same; the walk begins after the balancer and ends with it
 *   shard          the balancer is the next CPU in topology order after the caller; the walk
 *                  begins after the balancer. any() searches in the same order. While no
 *                  CPU is idle, no CPU writes: all lines are shared, and any() does not miss
 *   shard-summary  a summary says whether the set is empty, and which shards a search can skip
 *   shard-count    a sharded counter says whether the set is empty
 *   kernel         the series for Linux, which changes only the layout: it has a summary, which
 *                  alone answers any(). Every entry writes the flags; the balancer is the first
 *                  CPU of the set
 *
 * Why no CPU is missed: see core/sbm.h and core/shard_counter.h (paired use: a CPU counts for
 * itself). As in stock.c, a CPU raises the count after it sets its bit, and clears its bit before
 * it lowers the count.
 *
 * In the first three of schedshard's forms each busy CPU would pick a balancer near itself, so
 * there would be as many balancers as busy caches. The CPU that wins the compare-and-exchange of
 * next_balance makes the request for all (or of `asked`, if it is only for the flags). Why no
 * request is lost: next_balance is then the next jiffy, in which every busy CPU looks again, as in
 * Linux. A flag stays set until a balancer clears it.
 *
 * These three do not write a flag that is already set, so the line of flags and times stays shared.
 * Why that is enough: enter() and stay() set the bit, execute a full barrier, and read the flag. If
 * they read 1, a balancer clears the flag later. Its barrier and walk come later still, so the walk
 * sees the bit. In stay() the bit has long been set, and the guarantee is that a balancer later
 * looks at this CPU's *load*. The same argument holds, with stay()'s own barrier.
 */
#include "idle_set.h"

#include "report_types.h"
#include "sbm_more.h"
#include "shard_counter.h"

struct sharded {
	struct idle_set set;
	const struct shard_plan *plan;
	struct shard_counter count;
};

static struct sharded *sharded_of(const struct idle_set *s)
{
	return (struct sharded *)s;
}

static struct sbm *sbm_of(const struct idle_set *s)
{
	return READ_ONCE(s->nohz->idle_cpus_mask);
}

static void sharded_destroy(struct idle_set *s)
{
	if (!s)
		return;
	shard_counter_detach(&sharded_of(s)->count);
	sbm_free(sbm_of(s));
	idle_free(s, sizeof(struct sharded));
}

static struct idle_set *sharded_create(const struct shard_plan *plan, unsigned int flags,
				       bool count)
{
	struct idle_set *s = idle_alloc(sizeof(struct sharded));

	if (!s)
		return NULL;
	sharded_of(s)->plan = plan;
	rd_label("idle_cpus_mask", "struct rd_sbm_line");
	s->nohz->idle_cpus_mask = sbm_alloc(plan, flags);
	rd_label("idle count", "struct rd_count_line");
	if (sbm_of(s) && (!count || shard_counter_attach(&sharded_of(s)->count, plan)))
		return s;
	sharded_destroy(s);
	return NULL;
}

static struct idle_set *plain_create(const struct shard_topo *topo, const struct shard_plan *plan)
{
	return sharded_create(plan, 0, false);
}

static struct idle_set *shard_summary_create(const struct shard_topo *topo,
					     const struct shard_plan *plan)
{
	return sharded_create(plan, SBM_SUMMARY, false);
}

static struct idle_set *shard_count_create(const struct shard_topo *topo,
					   const struct shard_plan *plan)
{
	return sharded_create(plan, 0, true);
}

static bool sharded_test(const struct idle_set *s, u32 cpu)
{
	return sbm_test(sbm_of(s), cpu);
}

static size_t sharded_bytes(const struct idle_set *s)
{
	const struct sharded *x = sharded_of(s);
	size_t bytes = (size_t)x->plan->nr_shards * PORT_CACHELINE;

	if (x->count.lines)
		bytes *= 2;
	return bytes + (sbm_of(s)->summary ? sbm_of(s)->summary->bytes : 0);
}

/* ---- the prototype ---- */

static void prototype_enter(struct idle_set *s, u32 cpu)
{
	sbm_set(sbm_of(s), cpu);
	idle_raise_flags(s->nohz);
}

static void sharded_exit(struct idle_set *s, u32 cpu)
{
	sbm_clear(sbm_of(s), cpu);
}

static bool prototype_any(const struct idle_set *s, u32 this_cpu)
{
	return true;
}

static s64 from_first(const struct idle_set *s, u32 this_cpu, s64 after)
{
	return after < 0 ? sbm_first_cpu(sbm_of(s)) : sbm_next_cpu(sbm_of(s), (u32)after);
}

static s64 round_from(const struct idle_set *s, u32 start, s64 after)
{
	return after < 0 ? sbm_first_cpu_wrap(sbm_of(s), start)
			 : sbm_next_cpu_wrap(sbm_of(s), (u32)after, start);
}

/* From the next CPU number on: topology order, starting at the position of that CPU. */
static s64 wrap_walk(const struct idle_set *s, u32 this_cpu, s64 after)
{
	const struct shard_plan *plan = sharded_of(s)->plan;
	u32 start = this_cpu;

	do
		start = start + 1 < plan->nr_cpus ? start + 1 : 0;
	while (!shard_plan_has_cpu(plan, start));
	return round_from(s, start, after);
}

/* ---- schedshard ---- */

static void shard_enter(struct idle_set *s, u32 cpu)
{
	sbm_set(sbm_of(s), cpu);
	/* Pairs with the balancer's smp_mb() between clearing a flag and its walk. */
	smp_mb__after_atomic();
	idle_raise_if_down(&s->nohz->needs_update);
	idle_raise_if_down(&s->nohz->has_blocked);
}

static bool shard_claim_balance(struct idle_set *s, u64 now, u64 due)
{
	u64 *next = &s->nohz->next_balance;

	return READ_ONCE(*next) == due && port_cmpxchg64(next, due, now + 1) == due;
}

static bool shard_claim_flags(struct idle_set *s, u64 now)
{
	u64 *at = &s->nohz->asked, asked = READ_ONCE(*at);

	return asked != now && port_cmpxchg64(at, asked, now) == asked;
}

static bool shard_any(const struct idle_set *s, u32 this_cpu)
{
	return sbm_first_cpu_wrap(sbm_of(s), this_cpu) >= 0;
}

static bool shard_summary_any(const struct idle_set *s, u32 this_cpu)
{
	return !sbm_empty(sbm_of(s));
}

static bool kernel_any(const struct idle_set *s, u32 this_cpu)
{
	return !sbm_seems_empty(sbm_of(s));
}

static void shard_count_enter(struct idle_set *s, u32 cpu)
{
	sbm_set(sbm_of(s), cpu);
	shard_counter_inc(&sharded_of(s)->count, cpu);
	smp_mb__after_atomic(); /* as in shard_enter() */
	idle_raise_if_down(&s->nohz->needs_update);
	idle_raise_if_down(&s->nohz->has_blocked);
}

static void shard_count_exit(struct idle_set *s, u32 cpu)
{
	sbm_clear(sbm_of(s), cpu);
	shard_counter_dec(&sharded_of(s)->count, cpu);
}

static bool shard_count_any(const struct idle_set *s, u32 this_cpu)
{
	return !shard_counter_is_zero(&sharded_of(s)->count, this_cpu);
}

/* From the next CPU in topology order on: the caller's LLC first, the caller last. */
static s64 shard_round(const struct idle_set *s, u32 this_cpu, s64 after)
{
	const struct shard_plan *plan = sharded_of(s)->plan;
	u32 idx = plan->slot[this_cpu].idx + 1;

	return round_from(s, plan->idx_to_cpu[idx < plan->nr_possible ? idx : 0], after);
}

#define PROTOTYPE                                                                                \
	.time_first = true, .create = plain_create, .destroy = sharded_destroy,                  \
	.enter = prototype_enter, .stay = idle_stay, .exit = sharded_exit, .any = prototype_any, \
	.test = sharded_test, .pick = from_first, .bytes = sharded_bytes

const struct idle_ops idle_sbm_first = { .name = "sbm-first", PROTOTYPE, .walk = from_first };
const struct idle_ops idle_sbm_wrap = { .name = "sbm-wrap", PROTOTYPE, .walk = wrap_walk };

#define OURS                                                                                  \
	.time_first = true, .destroy = sharded_destroy, .claim_balance = shard_claim_balance, \
	.claim_flags = shard_claim_flags, .stay = idle_stay_if_down, .test = sharded_test,    \
	.pick = shard_round, .walk = shard_round, .bytes = sharded_bytes

const struct idle_ops idle_shard = {
	.name = "shard",
	OURS,
	.create = plain_create,
	.enter = shard_enter,
	.exit = sharded_exit,
	.any = shard_any,
};

const struct idle_ops idle_shard_summary = {
	.name = "shard-summary",
	OURS,
	.create = shard_summary_create,
	.enter = shard_enter,
	.exit = sharded_exit,
	.any = shard_summary_any,
};

const struct idle_ops idle_kernel = {
	.name = "kernel",
	.create = shard_summary_create,
	.destroy = sharded_destroy,
	.enter = prototype_enter,
	.stay = idle_stay,
	.exit = sharded_exit,
	.any = kernel_any,
	.test = sharded_test,
	.pick = from_first,
	.walk = shard_round,
	.bytes = sharded_bytes,
};

const struct idle_ops idle_shard_count = {
	.name = "shard-count",
	OURS,
	.create = shard_count_create,
	.enter = shard_count_enter,
	.exit = shard_count_exit,
	.any = shard_count_any,
};
