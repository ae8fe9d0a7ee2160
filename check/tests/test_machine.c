// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests the explorer's reports on cases that break its rules, by an endless loop, a store to a
 * constant, or an allocation in a body. It also tests what cases seldom use: accesses wider than a
 * word or across two words.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "explore_search.h"

void *port_alloc(size_t size, int node);

static uint64_t *mem;
static void *allocated[EXPLORE_MAX_CPUS];
static int failures;

#define CHECK(cond)                                                                \
	do {                                                                       \
		if (!(cond)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #cond); \
			failures++;                                                \
		}                                                                  \
	} while (0)

static void setup(uint32_t nr_cpus)
{
	mem = port_alloc(256, -1);
	explore_name(mem, 8, "x");
}

static void setup_const(uint32_t nr_cpus)
{
	setup(nr_cpus);
	explore_const(mem, 64);
}

/* Runs all searches of a case under a model; @s receives the results of the last one. */
static void explore(const struct explore_case *c, enum x_model model, struct x_stats *s)
{
	static const enum x_search all[] = { X_SEARCH_STATES, X_SEARCH_BRUTE };
	int64_t failing = -1;

	memset(s, 0, sizeof(*s));
	for (int i = 0; i < 2; i++) {
		struct x_options o = { .search = all[i], .preemptions = X_NO_BOUND };

		x_stats_free(s);
		x_machine_init(c, 2, model, all[i] == X_SEARCH_STATES);
		x_search_states(&o, s);
		CHECK(s->complete);
		CHECK(failing < 0 || failing == !s->failing);
		failing = !s->failing;
	}
}

/* Waits for a store that never comes. */
static void wait_for_ever(uint32_t cpu)
{
	if (!cpu) {
		while (!sim_load(mem, 8, 0, NULL))
			;
	}
}

static void test_endless(void)
{
	static const struct explore_case c = { .name = "endless",
					       .setup = setup,
					       .body = wait_for_ever };
	struct x_stats s;

	explore(&c, X_TSO, &s);
	CHECK(s.failing == 1);
	CHECK(s.shortest && strstr(s.shortest->failure.text, "no end"));
	CHECK(s.max_steps == X_MAX_STEPS);
	x_stats_free(&s);
}

static void store_to_const(uint32_t cpu)
{
	if (cpu)
		sim_store(mem + 1, 8, 1, 0, NULL);
	else
		explore_result(0, sim_load(mem, 8, 0, NULL));
}

static void test_const(void)
{
	static const struct explore_case c = { .name = "const",
					       .setup = setup_const,
					       .body = store_to_const };
	struct x_stats s;

	explore(&c, X_SC, &s);
	CHECK(s.executions == 1 && s.max_steps == 1); /* the load is not a step */
	CHECK(s.shortest && strstr(s.shortest->failure.text, "constant"));
	CHECK(s.shortest && s.shortest->failure.cpu == 1);
	x_stats_free(&s);
}

/* An allocation returns the same zeroed lines in every execution, whichever CPU is first. */
static void allocate(uint32_t cpu)
{
	uint64_t *p;

	sim_rmw(mem, 8, SIM_RMW_ADD, 1, 5, NULL);
	p = port_alloc(100, -1);
	explore_check(!allocated[cpu] || allocated[cpu] == p, "other lines than last time");
	allocated[cpu] = p;
	explore_check(p != allocated[!cpu], "the other CPU's lines");
	explore_check(!sim_load(p, 8, 0, NULL), "not zeroed");
	sim_store(p, 8, 1, 0, NULL);
}

static void test_allocation(void)
{
	static const struct explore_case c = { .name = "allocate",
					       .setup = setup,
					       .body = allocate };
	struct x_stats s;

	memset(allocated, 0, sizeof(allocated));
	explore(&c, X_TSO, &s);
	CHECK(!s.failing && s.executions > 1);
	x_stats_free(&s);
}

/* A plain store of 16 bytes enters the buffer as two words, which supply later loads. */
static void wide(uint32_t cpu)
{
	uint64_t seen[2];

	if (cpu) {
		explore_result(0, sim_load(mem, 8, 0, NULL));
		explore_result(1, sim_load(mem + 1, 8, 0, NULL));
		return;
	}
	sim_plain(mem + 2, 16, true, NULL);
	mem[2] = 3;
	mem[3] = 4;
	sim_plain(mem + 2, 16, false, NULL);
	memcpy(seen, mem + 2, sizeof(seen));
	explore_check(seen[0] == 3 && seen[1] == 4, "own bytes are not forwarded");
	/* Across two words, so that the hash must handle both. */
	sim_store((char *)mem + 4, 8, 0x200000001ull, 0, NULL);
	sim_store(mem + 1, 4, 7, 0, NULL);
	explore_check(sim_load((char *)mem + 4, 8, 0, NULL) == 0x700000001ull,
		      "the newer store is not laid over the older one");
}

static void check_wide(uint32_t nr_cpus)
{
	explore_check(mem[0] == 0x100000000ull && mem[1] == 7 && mem[2] == 3 && mem[3] == 4,
		      "memory in the end");
}

static void test_wide(void)
{
	static const struct explore_case c = {
		.name = "wide", .setup = setup, .body = wide, .check = check_wide
	};
	struct x_stats s;

	for (enum x_model m = X_SC; m <= X_WEAK; m++) {
		explore(&c, m, &s);
		CHECK(!s.failing);
		/* Loaded before, between and after the two stores; weak: each word separately. */
		CHECK(s.nr_outcomes == (m == X_WEAK ? 6 : 5));
		x_stats_free(&s);
	}
}

int main(void)
{
	test_endless();
	test_const();
	test_allocation();
	test_wide();
	return failures != 0;
}
