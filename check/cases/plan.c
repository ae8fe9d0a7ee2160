// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * One CPU publishes a plan that core/ built, and others read it without locks. shard_topo.h
 * requires that the caller publishes the pointer to a new plan, for example by a release store. The
 * writer fills in the plan's header with plain stores, and the others read it with plain loads. The
 * explorer reports a data race if nothing orders them.
 *
 * TSO keeps stores in program order. So these cases do not show that the release orders the stores
 * on weaker machines, or for the compiler.
 */
#include "port.h"

#include "cases.h"
#include "objects.h"

struct published {
	struct shard_plan *plan;
};

static const struct shard_plan *built; /* made by set-up; the copies share its tables */
static struct published *p;

static void setup(uint32_t nr_cpus)
{
	built = case_plan(4, 2);
	p = port_alloc(sizeof(*p), -1);
	explore_name(p, sizeof(*p), "published");
}

static void fill_in(struct shard_plan *copy)
{
	copy->slot = built->slot;
	copy->idx_to_cpu = built->idx_to_cpu;
	copy->shard = built->shard;
	copy->nr_cpus = built->nr_cpus;
	copy->nr_shards = built->nr_shards;
}

static void read_side(uint32_t cpu)
{
	const struct shard_plan *plan = smp_load_acquire(&p->plan);
	struct shard_near_iter it;

	explore_result(cpu - 1, plan != NULL);
	if (!plan)
		return;
	explore_check(shard_plan_has_cpu(plan, 3), "the plan does not know CPU 3 yet");
	explore_check(shard_near_begin(&it, plan, 3) == 1, "CPU 3 is not in shard 1");
}

static void publish(uint32_t cpu)
{
	struct shard_plan *copy;

	if (cpu) {
		read_side(cpu);
		return;
	}
	copy = port_alloc(sizeof(*copy), -1);
	fill_in(copy);
	smp_store_release(&p->plan, copy);
}

/* Planted: the pointer becomes visible before its target is complete. */
static void publish_early(uint32_t cpu)
{
	struct shard_plan *copy;

	if (cpu) {
		const struct shard_plan *plan = smp_load_acquire(&p->plan);

		explore_check(!plan || plan->nr_cpus == 4, "the plan has no CPUs yet");
		return;
	}
	copy = port_alloc(sizeof(*copy), -1);
	smp_store_release(&p->plan, copy);
	fill_in(copy);
}

const struct explore_case explore_plan_cases[] = {
	EXPLORE_CASE("plan-publish", "a CPU that sees the pointer to a plan sees the plan", "core",
		     2, 4, setup, publish, NULL, .results = { "seen1", "seen2", "seen3" }),
	EXPLORE_CASE("planted-plan-early", "planted: a plan is published before it is filled in",
		     "planted", 2, 3, setup, publish_early, NULL),
	{ 0 },
};
