// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A pool with one object per CPU: claim a free object near the CPU, and put it back. claim-near and
 * claim-pool use sbm_claim_near(), the latter with a line per core. claim-two-steps uses a
 * search and then a clear.
 */
#include "primitive.h"
#include "sbm_claim.h"
#include "sbm_more.h"

/* The type of a line of the bitmap, for reports. */
struct claim_line {
	u64 word;
	u8 unused[PORT_CACHELINE - sizeof(u64)];
};

static void destroy(void *state)
{
	sbm_destroy(state);
}

static struct sbm *create_on(const struct shard_plan *plan)
{
	struct sbm *b;

	if (primitive_label_hook)
		primitive_label_hook("free objects", "struct claim_line");
	b = sbm_alloc(plan, 0);
	for (u32 i = 0; b && i < plan->nr_possible; i++)
		sbm_set(b, plan->idx_to_cpu[i]);
	return b;
}

static void *create(const struct primitive_place *place)
{
	return create_on(place->plan);
}

static void *create_pool(const struct primitive_place *place)
{
	return create_on(place->pools);
}

/* Are all objects free again? */
static bool consistent(const void *state, u64 n)
{
	const struct sbm *b = state;

	return sbm_weight(b) == b->plan->nr_possible;
}

/*
 * There are as many objects as CPUs, so a search can find none only because objects moved
 * meanwhile.
 */
static void claim_near(void *state, const struct primitive_thread *thread, u64 n)
{
	struct sbm *b = state;

	while (n--) {
		s64 cpu;

		do
			cpu = sbm_claim_near(b, thread->cpu);
		while (cpu < 0);
		primitive_hold(thread);
		sbm_put(b, (u32)cpu);
	}
}

PRIMITIVE(claim_near, "claim-near",
	  "claim a free object near the CPU and put it back: sbm_claim_near(), sbm_put()", true,
	  create, claim_near, consistent, destroy);

PRIMITIVE(claim_pool, "claim-pool", "the same of a set with a line for each core", true,
	  create_pool, claim_near, consistent, destroy);

/* The lowest set bit of the nearest shard that has any. */
static s64 lowest_near(const struct sbm *b, u32 cpu)
{
	struct shard_near_iter near;
	u32 shard = shard_near_begin(&near, b->plan, cpu);

	do {
		u64 word = READ_ONCE(*b->line[shard]);

		if (word)
			return b->cpus[shard][port_ctz64(word)];
	} while (shard_near_next(&near, &shard));
	return -1;
}

static void claim_two_steps(void *state, const struct primitive_thread *thread, u64 n)
{
	struct sbm *b = state;

	while (n--) {
		s64 cpu;

		do
			cpu = lowest_near(b, thread->cpu);
		while (cpu < 0 || !sbm_test_and_clear(b, (u32)cpu));
		primitive_hold(thread);
		sbm_put(b, (u32)cpu);
	}
}

PRIMITIVE(claim_two_steps, "claim-two-steps",
	  "the same by a search for the lowest bit and sbm_test_and_clear()", true, create,
	  claim_two_steps, consistent, destroy);
