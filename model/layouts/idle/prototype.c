// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The published prototype: a bitmap with a line per shard, and no counter. A tick does not check
 * whether the set is empty. The balancer is the first CPU of the set in topology order.
 *
 *   sbm-first  the balancer's walk begins with the first CPU, which is itself
 *   sbm-wrap   the walk begins after the balancer and ends with it
 *
 * Why no CPU is missed: see core/sbm.h.
 */
#include "idle_set.h"

#include "report_types.h"
#include "sbm_more.h"

struct prototype {
	struct idle_set set;
	const struct shard_plan *plan;
};

static struct prototype *prototype_of(const struct idle_set *s)
{
	return (struct prototype *)s;
}

static struct sbm *sbm_of(const struct idle_set *s)
{
	return READ_ONCE(s->nohz->idle_cpus_mask);
}

static void prototype_destroy(struct idle_set *s)
{
	if (!s)
		return;
	sbm_destroy(sbm_of(s));
	idle_free(s, sizeof(struct prototype));
}

static struct idle_set *prototype_create(const struct shard_topo *topo,
					 const struct shard_plan *plan)
{
	struct idle_set *s = idle_alloc(sizeof(struct prototype));

	if (!s)
		return NULL;
	prototype_of(s)->plan = plan;
	rd_label("idle_cpus_mask", "struct rd_sbm_line");
	s->nohz->idle_cpus_mask = sbm_alloc(plan, 0);
	if (sbm_of(s))
		return s;
	prototype_destroy(s);
	return NULL;
}

static bool prototype_test(const struct idle_set *s, u32 cpu)
{
	return sbm_test(sbm_of(s), cpu);
}

static size_t prototype_bytes(const struct idle_set *s)
{
	return (size_t)prototype_of(s)->plan->nr_shards * PORT_CACHELINE;
}

static void prototype_enter(struct idle_set *s, u32 cpu)
{
	sbm_set(sbm_of(s), cpu);
	idle_raise_flags(s->nohz);
}

static void prototype_exit(struct idle_set *s, u32 cpu)
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

/* Walk in topology order, from the position of the CPU whose number follows @this_cpu. */
static s64 wrap_walk(const struct idle_set *s, u32 this_cpu, s64 after)
{
	const struct shard_plan *plan = prototype_of(s)->plan;
	u32 start = this_cpu;

	do
		start = start + 1 < plan->nr_cpus ? start + 1 : 0;
	while (!shard_plan_has_cpu(plan, start));
	return after < 0 ? sbm_first_cpu_wrap(sbm_of(s), start)
			 : sbm_next_cpu_wrap(sbm_of(s), (u32)after, start);
}

#define PROTOTYPE                                                                                  \
	.time_first = true, .create = prototype_create, .destroy = prototype_destroy,              \
	.enter = prototype_enter, .stay = idle_stay, .exit = prototype_exit, .any = prototype_any, \
	.test = prototype_test, .pick = from_first, .bytes = prototype_bytes

const struct idle_ops idle_sbm_first = { .name = "sbm-first", PROTOTYPE, .walk = from_first };
const struct idle_ops idle_sbm_wrap = { .name = "sbm-wrap", PROTOTYPE, .walk = wrap_walk };
