// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests the real summary without one of two barriers; meson.build compiles this file for each.
 * core/ is unchanged. The port.h against which one part of core/ is compiled lacks the barrier
 * (port_nobarrier/):
 *
 *   C3   shard_summary_clean(): between clearing "occupied" and reading the line again
 *   S2   shard_summary_note(): between setting the bit and reading the summary
 *
 * On x86 both barriers are empty, because locked operations are full barriers. So these cases use
 * the "posted" model.
 */
#include "port.h"

#include "objects.h"

extern const struct explore_case CASES[];

static struct sbm *b;
static u64 *told;

/* The line is empty, and the summary bit still set: the first search cleans. */
static void setup(uint32_t nr_cpus)
{
	told = port_alloc(sizeof(*told), -1);
	explore_name(told, sizeof(*told), "told");
	b = case_sbm(case_plan(4, 4), SBM_SUMMARY);
	sbm_set(b, 0);
	sbm_clear(b, 0);
}

static void set_search(uint32_t cpu)
{
	bool returned;

	if (!cpu) {
		sbm_set(b, 0);
		smp_store_release(told, 1);
		return;
	}
	returned = smp_load_acquire(told);
	explore_check(!sbm_empty(b) || !returned,
		      "a search that began after sbm_set() returned found the set empty");
}

static void check(uint32_t nr_cpus)
{
	explore_check(!sbm_empty(b), "the bit is set, and the set is called empty for ever");
}

const struct explore_case CASES[] = {
	EXPLORE_CASE(NAME, TITLE, "planted", 2, 4, setup, set_search, check, .posted = true),
	{ 0 },
};
