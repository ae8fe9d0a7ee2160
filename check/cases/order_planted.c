// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests core/shard_counter.c and core/cpu_counter.c under the memory model "weak". meson.build
 * compiles this file for both, with their releases and without (port_explore/port.h).
 */
#include "port.h"

#include <stdlib.h>

#include "cases.h"
#include "cpu_counter.h"
#include "objects.h"

#ifdef NOTED
#define CPUS 3
#else
#define CPUS 2
#endif

extern const struct explore_case CASES[];

#ifdef NOTED

static struct cpu_counter *noted;
static u64 *told;

static void setup(uint32_t nr_cpus)
{
	noted = cpu_counter_alloc(case_plan(4, 2), 0);
	told = port_alloc(PORT_CACHELINE, -1);
	if (!noted || !told)
		abort();
	explore_const(noted->line, 4 * sizeof(*noted->line));
	explore_name(noted->noted, sizeof(*noted->noted), "notes");
	explore_name(noted->line[0], sizeof(*noted->line[0]), "line");
	explore_name(told, 8, "told");
}

/* CPUs 0 and 1 add for one CPU number. CPU 1 signals CPU 2, which sums. */
static void body(uint32_t cpu)
{
	if (cpu < 2)
		cpu_counter_add_any(noted, 0, 1);
	if (cpu == 1) {
		smp_mb();
		WRITE_ONCE(*told, 1);
	} else if (cpu == 2 && READ_ONCE(*told)) {
		smp_mb();
		explore_check(cpu_counter_sum(noted),
			      "a sum misses an add that was announced to it");
	}
}

#else

static const struct shard_plan *plan;
static struct shard_counter *c;

static void setup(uint32_t nr_cpus)
{
	plan = case_plan(4, 2);
	c = port_alloc(sizeof(*c), -1);
	explore_name(c, sizeof(*c), "counter");
}

/* A CPU counts in the lines that another CPU has just attached. */
static void body(uint32_t cpu)
{
	if (!cpu)
		explore_check(shard_counter_attach(c, plan), "no memory");
	else
		shard_counter_inc(c, 1);
}

#endif

const struct explore_case CASES[] = {
	EXPLORE_CASE(NAME, TITLE, KIND, CPUS, CPUS, setup, body, NULL, .weak = true),
	{ 0 },
};
