// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests rules that were added to the model because of measured curves. Each rule is compared with
 * the model without it, on the toy machine (in ns). The rules: far atomics, invalidation before
 * data, loads after stores and locked operations, siblings that store, stores that merge, loads
 * during a transfer to another group.
 */
#include "arena.h"
#include "sim.h"
#include "toy.h"

/* @n cores of package 0 add @times each. Returns nanoseconds per addition of all cores together. */
static uint64_t additions(const char *protocol, uint32_t n, uint64_t times)
{
	struct step s[4];
	struct script script[4];
	struct played p;

	toy_begin(protocol, 1);
	for (uint32_t i = 0; i < n; i++) {
		s[i] = (struct step){ .kind = STEP_LOOP_ADD, .n = times };
		script[i] = (struct script){ i, &s[i], 1, i };
	}
	p = toy_play(script, n);
	CHECK_EQ(*p.line, n * times);
	toy_end();
	return p.took / NS / (n * times);
}

static void the_home_executes_far_additions(void)
{
	static const char far[] = "far_atomics = 1\nfar_ns = 9\n";

	/* A single core takes the line, and pays for a usual locked operation. */
	CHECK_EQ(additions(far, 1, 400), 15);
	/* With two cores the way of a request, 30, is the limit; with four the home's time. */
	CHECK_EQ(additions(far, 2, 400), (30 + 9) / 2);
	CHECK_EQ(additions(far, 4, 400), 9);
	CHECK(additions("", 4, 400) > 20);
}

/* Returns the nanoseconds that two cores take for turns by compare-and-swap. */
static uint64_t turns(const char *protocol)
{
	struct step even[] = { { .kind = STEP_TURNS, .n = 50 } };
	struct step odd[] = { { .kind = STEP_TURNS, .n = 50, .odd = true } };
	uint64_t took;

	toy_begin(protocol, 1);
	took = TOY_PLAY(SCRIPT(0, even), SCRIPT(2, odd)).took / NS;
	toy_end();
	return took;
}

static void compare_and_swap_moves_the_line(void)
{
	CHECK_EQ(turns("far_atomics = 1\n"), turns(""));
}

/* After far additions a load finds the line in the home's cache, not in memory. */
static void the_home_keeps_what_it_executed(void)
{
	struct step a[] = { { .kind = STEP_LOOP_ADD, .n = 50 } };
	struct step b[] = { { .kind = STEP_LOOP_ADD, .n = 50 } };
	struct step load[] = { { .kind = STEP_LOAD, .at = 20 * FAR } };

	toy_begin("far_atomics = 1\nl3_hit_cycles = 10\n", 1);
	TOY_PLAY(SCRIPT(0, a), SCRIPT(2, b), SCRIPT(3, load));
	CHECK_EQ(load[0].n, 100);
	CHECK(load[0].took < 80 * NS); /* latency_ns.memory */
	toy_end();
}

/*
 * CPUs 0 and 4, in two packages, have copies, and CPU 0 writes. Returns when CPU 4 last loads the
 * old value, in nanoseconds after the write began; @whole receives how long the write took.
 */
static uint64_t last_old_value(uint64_t *whole)
{
	struct step own[] = { { .kind = STEP_ADD } };
	struct step w[] = { { .kind = STEP_LOAD, .at = FAR / 2 }, { .kind = STEP_ADD, .at = FAR } };
	struct step r[101] = { { .kind = STEP_LOAD, .at = FAR / 2 } };
	uint64_t last = 0;

	toy_begin("", 1);
	for (uint64_t i = 0; i < 100; i++)
		r[1 + i] = (struct step){ .kind = STEP_LOAD, .at = FAR + i * 5 * NS };
	TOY_PLAY(SCRIPT(2, own), SCRIPT(0, w), SCRIPT(4, r));
	for (uint64_t i = 0; i < 100; i++)
		if (r[1 + i].n == 1 && r[1 + i].took == 4 * NS)
			last = i * 5;
	*whole = w[1].took / NS;
	toy_end();
	return last;
}

static void sharers_lose_their_copies_before_the_writer_has_the_line(void)
{
	uint64_t whole, last = last_old_value(&whole);

	CHECK(last > 0);
	/* The acknowledgement takes the rest of the time: 0.4 of 300 (data_leg). */
	CHECK(last + 100 < whole);
}

static void a_load_waits_for_the_locked_operation_before_it(void)
{
	struct step s[] = { { .kind = STEP_ADD },
			    { .kind = STEP_ADD, .at = FAR },
			    { .kind = STEP_LOAD },
			    { .kind = STEP_LOAD } };

	toy_begin("after_locked_cycles = 9\n", 1);
	TOY_PLAY(SCRIPT(0, s));
	CHECK_EQ(s[1].took, 15 * NS);
	CHECK_EQ(s[2].took, 13 * NS);
	CHECK_EQ(s[3].took, 4 * NS);
	toy_end();
}

static void a_load_of_the_own_store_is_forwarded(void)
{
	struct step s[] = { { .kind = STEP_ADD },
			    { .kind = STEP_STORE, .at = FAR },
			    { .kind = STEP_LOAD },
			    { .kind = STEP_LOAD } };
	uint64_t *line;

	toy_begin("forward_cycles = 1\n", 1);
	line = arena_alloc(64, 0, "line", NULL);
	s[0].addr = s[1].addr = s[2].addr = line;
	s[3].addr = line + 1;
	TOY_PLAY(SCRIPT(0, s));
	CHECK_EQ(s[2].took, 1 * NS);
	CHECK_EQ(s[3].took, 4 * NS); /* another word */
	toy_end();
}

/* Regression: where forwarding takes no time, a CPU that polls its own store spun for ever. */
static void a_core_that_polls_its_own_store_takes_time(void)
{
	struct step s[202] = { { .kind = STEP_ADD }, { .kind = STEP_STORE, .at = FAR } };
	uint64_t took = 0;

	toy_begin("forward_cycles = 0\n", 1);
	for (int i = 2; i < 202; i++)
		s[i].kind = STEP_LOAD;
	TOY_PLAY(SCRIPT(0, s));
	CHECK_EQ(s[2].took, 0);
	for (int i = 2; i < 202; i++)
		took += s[i].took;
	CHECK(took >= 4 * NS); /* load_hit, at least once in 64 loads */
	toy_end();
}

/* A store to a line that the sibling wrote does not wait; the sibling's next load does. */
static void a_store_does_not_wait_for_the_sibling(void)
{
	struct step first[] = { { .kind = STEP_ADD }, { .kind = STEP_LOAD, .at = 2 * FAR } };
	struct step second[] = { { .kind = STEP_STORE, .at = FAR }, { .kind = STEP_FENCE } };

	toy_begin("smt_read_ns = 3\n", 1);
	TOY_PLAY(SCRIPT(0, first), SCRIPT(8, second));
	CHECK_EQ(second[0].took + second[1].took, (1 + 12) * NS);
	CHECK_EQ(first[1].n, 1);
	CHECK_EQ(first[1].took, (10 + 3) * NS); /* latency_ns.smt, plus smt_read_ns */
	toy_end();
}

/* A store to a line that stays at its core leaves while a sibling's locked operation waits. */
static void a_store_leaves_before_the_sibling_has_its_turn(void)
{
	struct step first[] = { { .kind = STEP_ADD },
				{ .kind = STEP_ADD, .at = 2 * FAR },
				{ .kind = STEP_STORE },
				{ .kind = STEP_FENCE } };
	struct step second[] = { { .kind = STEP_ADD, .at = FAR },
				 { .kind = STEP_ADD, .at = 2 * FAR + 30 * NS } };
	struct played p;

	toy_begin("", 1);
	toy_model()->smt = 40 * NS; /* longer than a locked operation, as on Intel */
	p = TOY_PLAY(SCRIPT(0, first), SCRIPT(8, second));
	CHECK_EQ(first[2].took + first[3].took, (1 + 12) * NS);
	CHECK_EQ(second[1].took, (10 + 40) * NS);
	CHECK_EQ(*p.line, 1 + 1); /* the store of 1 came first */
	toy_end();
}

/*
 * CPU 4 stores nine times to a line of CPU 0, then fences. Its buffer has four entries. @waited
 * receives how many stores waited for an entry. Returns how long the fence took, in nanoseconds.
 */
static uint64_t nine_stores(const char *protocol, bool two_lines, uint64_t *waited)
{
	struct step own[] = { { .kind = STEP_ADD }, { .kind = STEP_ADD } };
	struct step s[10];
	uint64_t *line[2];

	toy_begin(protocol, 1);
	for (int i = 0; i < 2; i++)
		own[i].addr = line[i] = arena_alloc(64, 0, "line", NULL);
	for (int i = 0; i < 9; i++)
		s[i] = (struct step){ .kind = STEP_STORE, .addr = line[two_lines && i % 2] };
	s[0].at = FAR;
	s[9] = (struct step){ .kind = STEP_FENCE };
	TOY_PLAY(SCRIPT(0, own), SCRIPT(4, s));
	*waited = 0;
	for (int i = 0; i < 9; i++)
		*waited += s[i].took > 1 * NS;
	toy_end();
	return s[9].took / NS;
}

static void stores_to_a_line_on_its_way_merge(void)
{
	uint64_t waited, alone, merged;

	alone = nine_stores("", false, &waited);
	CHECK(waited > 0);
	merged = nine_stores("stores_merge = 3\n", false, &waited);
	CHECK_EQ(waited, 0); /* three entries are enough */
	/* The stores leave in one cycle, when the line comes. It was requested 8 ns earlier. */
	CHECK_EQ(merged, 300 - 8 + 12);
	CHECK(alone < merged);
	/* With stores to another line in between none can merge, or their order would change. */
	nine_stores("stores_merge = 3\n", true, &waited);
	CHECK(waited > 0);
}

/*
 * CPU 0 writes, CPU 2 loads. Then CPUs 4 and 5 of the other package load, and CPU 3, whose group
 * has a copy. The array receives how long the last three took, in nanoseconds.
 */
static void three_loads(const char *protocol, uint64_t took[3])
{
	static const uint32_t cpu[] = { 0, 2, 4, 5, 3 };
	struct step s[] = { { .kind = STEP_ADD },
			    { .kind = STEP_LOAD, .at = FAR },
			    { .kind = STEP_LOAD, .at = 2 * FAR },
			    { .kind = STEP_LOAD, .at = 2 * FAR + 1 * NS },
			    { .kind = STEP_LOAD, .at = 2 * FAR + 2 * NS } };
	struct script script[5];

	toy_begin(protocol, 1);
	for (int i = 0; i < 5; i++)
		script[i] = (struct script){ cpu[i], &s[i], 1, 0 };
	toy_play(script, 5);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(s[2 + i].n, 1);
		took[i] = s[2 + i].took / NS;
	}
	toy_end();
}

static void a_group_with_a_copy_serves_its_loads_meanwhile(void)
{
	uint64_t took[3], later[3];

	three_loads("l3_hit_cycles = 10\n", took);
	CHECK(took[0] > 200);
	CHECK(took[2] < 50);		/* does not wait for the other package's load */
	CHECK(took[1] + 1 >= took[0]);	/* waits, because its group has no copy yet */
	CHECK(took[1] < took[0] + 100); /* but needs no second transfer */
	/* The home rejects the loads that wait, and serves the first one later. */
	three_loads("l3_hit_cycles = 10\nretry_ns = 40\n", later);
	CHECK(later[0] >= took[0] + 40);
}

int main(void)
{
	static void (*const test[])(void) = {
		the_home_executes_far_additions,
		compare_and_swap_moves_the_line,
		the_home_keeps_what_it_executed,
		sharers_lose_their_copies_before_the_writer_has_the_line,
		a_load_waits_for_the_locked_operation_before_it,
		a_load_of_the_own_store_is_forwarded,
		a_core_that_polls_its_own_store_takes_time,
		a_store_does_not_wait_for_the_sibling,
		a_store_leaves_before_the_sibling_has_its_turn,
		stores_to_a_line_on_its_way_merge,
		a_group_with_a_copy_serves_its_loads_meanwhile,
	};

	return TOY_RUN(test);
}
