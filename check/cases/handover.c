// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The operations of ordered.h must hand over data, even on a machine that performs accesses in any
 * order. CPU 0 stores data and releases; another CPU acquires and reads the data. Planted cases
 * omit the release or the acquire.
 */
#include "port.h"

#include <stdlib.h>

#include "cases.h"
#include "objects.h"
#include "ordered.h"
#include "sbm_more.h"

static struct sbm *b;
static struct shard_counter *c;
static u64 *data;

static void setup(uint32_t nr_cpus)
{
	const struct shard_plan *plan = case_plan(4, 2);

	b = case_sbm(plan, 0);
	sbm_set_release(b, 1);
	c = port_alloc(sizeof(*c), -1);
	if (!shard_counter_attach(c, plan))
		abort();
	explore_name(&c->early, sizeof(c->early), "early");
	explore_const(&c->lines, sizeof(c->lines));
	explore_const(c->lines, c->lines->bytes);
	explore_name(c->lines->line[0], 8, "items 0");
	explore_name(c->lines->line[1], 8, "items 1");
	shard_counter_inc(c, 0);
	data = port_alloc(PORT_CACHELINE, -1);
	explore_name(data, 8, "data");
}

static void judge(bool acquired)
{
	if (acquired)
		explore_check(READ_ONCE(*data), "what came before the release is not visible");
}

static port_always_inline void set_bit(u32 cpu, bool release, bool acquire)
{
	if (!cpu) {
		WRITE_ONCE(*data, 1);
		if (release)
			sbm_set_release(b, 0);
		else
			sbm_set(b, 0);
	} else {
		judge(acquire ? sbm_test_acquire(b, 0) : sbm_test(b, 0));
	}
}

static port_always_inline void clear_bit(u32 cpu, bool release, bool acquire)
{
	if (!cpu) {
		WRITE_ONCE(*data, 1);
		if (release)
			sbm_clear_release(b, 1);
		else
			sbm_clear(b, 1);
	} else {
		judge(!(acquire ? sbm_test_acquire(b, 1) : sbm_test(b, 1)));
	}
}

/*
 * CPU 0 removes the last item, and CPU 2 counts and removes another item on the same line. CPU 1's
 * sum has no planted case, because shard_counter_sum() contains a read barrier.
 */
static port_always_inline void take_off(u32 cpu, bool release)
{
	if (!cpu) {
		WRITE_ONCE(*data, 1);
		if (release)
			shard_counter_dec_release(c, 0);
		else
			shard_counter_dec(c, 0);
	} else if (cpu == 1) {
		judge(!shard_counter_sum_acquire(c));
	} else {
		shard_counter_inc(c, 1);
		shard_counter_dec_release(c, 1);
	}
}

EXPLORE_BODY(set_bit_whole, set_bit(cpu, true, true))
EXPLORE_BODY(set_bit_no_release, set_bit(cpu, false, true))
EXPLORE_BODY(set_bit_no_acquire, set_bit(cpu, true, false))
EXPLORE_BODY(clear_bit_whole, clear_bit(cpu, true, true))
EXPLORE_BODY(clear_bit_no_release, clear_bit(cpu, false, true))
EXPLORE_BODY(clear_bit_no_acquire, clear_bit(cpu, true, false))
EXPLORE_BODY(take_off_whole, take_off(cpu, true))
EXPLORE_BODY(take_off_no_release, take_off(cpu, false))

#define CASE(name_, title_, kind_, max, body_) \
	EXPLORE_CASE(name_, title_, kind_, 2, max, setup, body_, NULL, .weak = true)

const struct explore_case explore_handover_cases[] = {
	CASE("handover-set", "sbm_set_release() to sbm_test_acquire() (model weak)", "core", 3,
	     set_bit_whole),
	CASE("handover-clear", "sbm_clear_release() to sbm_test_acquire()", "core", 3,
	     clear_bit_whole),
	CASE("handover-count", "shard_counter_dec_release() to shard_counter_sum_acquire()", "core",
	     3, take_off_whole),
	CASE("planted-handover-set-release", "planted: sbm_set()", "planted", 3,
	     set_bit_no_release),
	CASE("planted-handover-set-acquire", "planted: sbm_test()", "planted", 3,
	     set_bit_no_acquire),
	CASE("planted-handover-clear-release", "planted: sbm_clear()", "planted", 3,
	     clear_bit_no_release),
	CASE("planted-handover-clear-acquire", "planted: sbm_test() of a clear bit", "planted", 3,
	     clear_bit_no_acquire),
	CASE("planted-handover-count-release", "planted: shard_counter_dec()", "planted", 3,
	     take_off_no_release),
	{ 0 },
};
