// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The real sharded counter must keep the guarantees of shard_counter.h in paired use, also during
 * an attach while other CPUs count.
 */
#include "port.h"

#include <stdlib.h>

#include "cases.h"
#include "objects.h"
#include "cpu_counter.h"

enum { COUNTED }; /* ghost: an item is counted, and stays */

static struct shard_counter *c;
static const struct shard_plan *plan;

static void make_counter(u32 per_shard)
{
	plan = case_plan(4, per_shard);
	c = port_alloc(sizeof(*c), -1);
	explore_name(c, offsetof(struct shard_counter, early), "counter.lines");
	explore_name(&c->early, sizeof(c->early), "counter.early");
}

static void setup_attached(uint32_t nr_cpus)
{
	make_counter(2);
	shard_counter_attach(c, plan);
	explore_const(c, sizeof(*c));
	explore_const(c->lines, c->lines->bytes);
	for (u32 i = 0; i < plan->nr_shards; i++)
		explore_name(c->lines->line[i], 8, i ? "count 1" : "count 0");
}

/* Not attached yet, with one item counted. */
static void setup_early_item(uint32_t nr_cpus)
{
	make_counter(2);
	shard_counter_inc(c, 3);
}

/* As setup_early_item(), with one shard: only a barrier orders its line and the early place. */
static void setup_early_item_one_shard(uint32_t nr_cpus)
{
	make_counter(4);
	shard_counter_inc(c, 3);
}

/* While CPU 0's item is counted, no search reports zero. */
static void is_zero(uint32_t cpu)
{
	bool counted, zero;

	if (!cpu) {
		shard_counter_inc(c, 0);
		smp_mb__after_atomic(); /* the ghost stands for real time, see shard_counter.h */
		explore_ghost_set(COUNTED, 1);
		return;
	}
	if (cpu == 1) { /* another item comes and goes, in the other shard */
		shard_counter_inc(c, 2);
		shard_counter_dec(c, 2);
		return;
	}
	counted = explore_ghost_get(COUNTED);
	zero = shard_counter_is_zero(c, 3);
	explore_check(!counted || !zero, "an item is counted, and the counter says zero");
	explore_result(cpu - 2, zero);
}

static void check_one(uint32_t nr_cpus)
{
	explore_check(shard_counter_sum(c) == 1, "the count is %d in the end, not 1",
		      (int)shard_counter_sum(c));
	explore_check(!shard_counter_is_zero(c, 0) && !shard_counter_more_than(c, 0, 1),
		      "is_zero and more_than do not agree with the sum");
}

/* A sum never exceeds the number of items counted at any moment of the call. */
static void more_than(uint32_t cpu)
{
	s64 sum;

	if (cpu < 2) {
		shard_counter_inc(c, 2 * cpu);
		shard_counter_dec(c, 2 * cpu);
		return;
	}
	explore_check(!shard_counter_more_than(c, 1, 2), "more than the 2 items there can be");
	sum = shard_counter_sum(c);
	explore_result(cpu - 2, (uint64_t)sum);
	explore_check(sum >= 0 && sum <= 2, "a sum of %d of at most 2 items", (int)sum);
}

static void check_zero(uint32_t nr_cpus)
{
	explore_check(!shard_counter_sum(c) && shard_counter_is_zero(c, 0),
		      "the count is %d in the end, not 0", (int)shard_counter_sum(c));
}

/* All CPUs count on one shard, and no increment is lost. */
static void increments(uint32_t cpu)
{
	shard_counter_inc(c, cpu % 2);
	shard_counter_add(c, cpu % 2, 2);
	shard_counter_dec(c, cpu % 2);
}

static void check_increments(uint32_t nr_cpus)
{
	explore_check(shard_counter_sum(c) == 2 * (s64)nr_cpus, "the count is %d in the end",
		      (int)shard_counter_sum(c));
}

/* CPU 0 attaches while CPU 1 adds an item and removes it, in either place. */
static void attach(uint32_t cpu)
{
	bool zero;

	if (!cpu) {
		explore_check(shard_counter_attach(c, plan), "no memory");
		return;
	}
	if (cpu == 1) {
		shard_counter_inc(c, 0);
		smp_mb__after_atomic(); /* the inc before the dec */
		shard_counter_dec(c, 0);
		return;
	}
	zero = shard_counter_is_zero(c, 1);
	explore_check(!zero, "an item is counted all the time, and the counter says zero");
	explore_check(!shard_counter_more_than(c, 1, 2), "more than the 2 items there can be");
}

/* CPU 0 attaches, CPU 1 counts, CPU 2 calls is_zero(), CPU 3 sum(). */
static void attach_and_ask(uint32_t cpu)
{
	if (cpu < 2)
		attach(cpu);
	else if (cpu == 2)
		explore_check(!shard_counter_is_zero(c, 1),
			      "an item is counted all the time, and the counter says zero");
	else
		explore_check(shard_counter_sum(c) >= 1,
			      "an item is counted all the time, the sum is 0");
}

/*
 * During the attach CPU 1 adds an item, then removes the early item: at every moment 1 or 2 items
 * are counted.
 */
static void attach_hand_over(uint32_t cpu)
{
	bool zero;

	if (!cpu) {
		shard_counter_attach(c, plan);
		return;
	}
	if (cpu == 1) {
		shard_counter_inc(c, 0);
		smp_mb__after_atomic();
		explore_ghost_set(COUNTED, 1);
		shard_counter_dec(c, 3);
		return;
	}
	if (!explore_ghost_get(COUNTED))
		return;
	zero = shard_counter_is_zero(c, 1);
	explore_result(cpu - 2, zero);
	explore_check(!zero, "CPU 1's item stays counted, and the counter says zero");
}

/* -------- a line for each CPU -------- */

static struct cpu_counter *by_cpu;

static void make_by_cpu(u32 batch)
{
	by_cpu = cpu_counter_alloc(case_plan(4, 2), batch);
	if (!by_cpu)
		abort();
	explore_name(&by_cpu->base, sizeof(by_cpu->base), "counter.base");
	explore_name(by_cpu->noted, sizeof(*by_cpu->noted), "counter.noted");
	explore_name(&by_cpu->about, sizeof(by_cpu->about), "counter.about");
	explore_const(by_cpu->line, 4 * sizeof(*by_cpu->line));
	for (u32 cpu = 0; cpu < 4; cpu++)
		explore_name(by_cpu->line[cpu], sizeof(**by_cpu->line), "counter line");
}

EXPLORE_SETUP(setup_by_cpu, make_by_cpu(0))
EXPLORE_SETUP(setup_estimate, make_by_cpu(2))

/* CPU 0 calls cpu_counter_take() twice, the others add. */
static void take(uint32_t cpu)
{
	s64 first, second;

	if (cpu) {
		cpu_counter_add(by_cpu, cpu, 1);
		cpu_counter_add(by_cpu, cpu, 1);
		return;
	}
	first = cpu_counter_take(by_cpu);
	second = cpu_counter_take(by_cpu);
	explore_check(first >= 0 && second >= 0, "less than nothing was counted");
	explore_result(0, (u64)(first + second));
}

/* CPU 0 adds, CPU 1 takes, and CPU 2 sums: what was taken is in the sum that it is taken from. */
static void take_beside_sum(uint32_t cpu)
{
	if (!cpu)
		cpu_counter_add(by_cpu, 0, 1);
	else if (cpu == 1)
		explore_result(0, (u64)cpu_counter_take(by_cpu));
	else
		explore_check(cpu_counter_sum(by_cpu) >= 0, "a sum is less than nothing");
}

static void check_take_beside_sum(uint32_t nr_cpus)
{
	explore_check((s64)explore_result_of(0) + cpu_counter_sum(by_cpu) == 1, "an add is lost");
}

static void check_take(uint32_t nr_cpus)
{
	s64 taken = (s64)explore_result_of(0) + cpu_counter_take(by_cpu);

	explore_check(taken == 2 * ((s64)nr_cpus - 1), "%d of %u adds are taken", (int)taken,
		      2 * (nr_cpus - 1));
	explore_check(!cpu_counter_sum(by_cpu), "a count is left");
}

static void estimate(uint32_t cpu)
{
	cpu_counter_add(by_cpu, cpu, 1);
	cpu_counter_add(by_cpu, cpu, 1);
	cpu_counter_add(by_cpu, cpu, 1);
}

static void check_estimate(uint32_t nr_cpus)
{
	explore_check(cpu_counter_sum(by_cpu) == 3 * (s64)nr_cpus, "an add is lost");
	explore_check(cpu_counter_about(by_cpu) == 2 * (s64)nr_cpus, "the estimate is %d",
		      (int)cpu_counter_about(by_cpu));
}

/* Planted: two CPUs add for one CPU number with plain stores. */
EXPLORE_BODY(one_line, cpu_counter_add(by_cpu, 0, 1))

static void check_one_line(uint32_t nr_cpus)
{
	explore_check(cpu_counter_sum(by_cpu) == (s64)nr_cpus, "an add is lost");
}

EXPLORE_BODY(one_line_any, cpu_counter_add_any(by_cpu, 0, 1))

/*
 * The last CPU sums while the others add for one CPU number. A ghost records that an add has
 * returned and is visible.
 */
static void sum_beside(uint32_t cpu, uint32_t reader)
{
	s64 before = 0, sum;

	if (cpu != reader) {
		cpu_counter_add_any(by_cpu, 0, 1);
		smp_mb__after_atomic();
		explore_ghost_set(cpu, 1);
		return;
	}
	for (u32 i = 0; i < reader; i++)
		before += (s64)explore_ghost_get(i);
	sum = cpu_counter_sum(by_cpu);
	explore_check(sum >= before && sum <= (s64)reader,
		      "%d adds had returned, and the sum is %d", (int)before, (int)sum);
	explore_result(0, (u64)sum);
}

EXPLORE_BODY(noted, sum_beside(cpu, 2))

static void check_noted(uint32_t nr_cpus)
{
	explore_check(cpu_counter_sum(by_cpu) == (s64)nr_cpus - 1, "an add is lost");
}

/* Two CPUs add for their own CPU numbers, by plain stores. CPU 2 sums twice. */
static void noted_own(uint32_t cpu)
{
	s64 before = 0, first, second;

	if (cpu < 2) {
		cpu_counter_add(by_cpu, cpu, 1);
		smp_mb();
		explore_ghost_set(cpu, 1);
		return;
	}
	before = (s64)(explore_ghost_get(0) + explore_ghost_get(1));
	first = cpu_counter_sum(by_cpu);
	second = cpu_counter_sum(by_cpu);
	explore_check(first >= before, "%d adds had returned, and the sum is %d", (int)before,
		      (int)first);
	explore_check(second >= first && second <= 2, "a sum of %d after one of %d", (int)second,
		      (int)first);
	explore_result(0, (u64)first);
}

/* Planted: CPU 0 sets the flag, then the note. */
static void flag_first(uint32_t cpu)
{
	if (!cpu) {
		port_or64(&by_cpu->line[0]->count, CPU_COUNTER_NOTED);
		cpu_counter_note(by_cpu, 0);
	}
	sum_beside(cpu, 2);
}

#define CORE(name_, title_, min, max, setup_, body_, check_, ...)            \
	EXPLORE_CASE(name_, title_, "core", min, max, setup_, body_, check_, \
		     .results = { __VA_ARGS__ })

const struct explore_case explore_counter_cases[] = {
	CORE("counter-is-zero", "is_zero is false while an item stays counted", 3, 4,
	     setup_attached, is_zero, check_one, "zero2", "zero3"),
	CORE("counter-more-than", "no more items are seen than there are", 3, 4, setup_attached,
	     more_than, check_zero, "sum2", "sum3"),
	CORE("counter-increments", "no increment gets lost", 2, 4, setup_attached, increments,
	     check_increments, NULL),
	CORE("counter-attach", "an attach while other CPUs count and sum", 2, 4, setup_early_item,
	     attach, check_one, NULL),
	CORE("counter-attach-one", "counter-attach with one shard", 3, 4,
	     setup_early_item_one_shard, attach_and_ask, check_one, NULL),
	CORE("counter-attach-hand-over", "counter-attach while the early item is taken off", 2, 4,
	     setup_early_item, attach_hand_over, check_one, "zero2", "zero3"),
	CORE("counter-take", "each add is taken once", 2, 3, setup_by_cpu, take, check_take,
	     "taken"),
	CORE("counter-take-sum", "a sum beside cpu_counter_take() misses nothing that it took", 3,
	     3, setup_by_cpu, take_beside_sum, check_take_beside_sum, "taken"),
	CORE("counter-estimate", "an estimate misses less than a batch a CPU", 2, 2, setup_estimate,
	     estimate, check_estimate, NULL),
	CORE("counter-add-any", "threads that share a CPU number lose no add", 2, 4, setup_by_cpu,
	     one_line_any, check_one_line, NULL),
	CORE("counter-noted", "a sum has each add that is visible when it begins", 3, 3,
	     setup_by_cpu, noted, check_noted, "sum"),
	CORE("counter-noted-own", "counter-noted where each CPU adds for its own number", 3, 3,
	     setup_by_cpu, noted_own, check_noted, "sum"),
	EXPLORE_CASE("planted-counter-flag", "planted: a CPU's flag is set before its note",
		     "planted", 3, 3, setup_by_cpu, flag_first, check_noted),
	EXPLORE_CASE("planted-counter-add",
		     "planted: threads that share a CPU number add by plain stores", "planted", 2,
		     4, setup_by_cpu, one_line, check_one_line),
	{ 0 },
};
