// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The model against what can be worked out by hand on the toy machine (times in ns): a
 * transfer takes what the machine file says, whoever is near is not charged for who is far,
 * and no queue starves anybody.
 */
#include <string.h>

#include "arena.h"
#include "sim.h"
#include "toy.h"

#define NS  1000ull
#define FAR 1000000ull /* a time by which everything before has settled */

/* CPU @owner modifies a line whose home is node @home, later @other adds to it: how long? */
static uint64_t transfer(uint32_t owner, uint32_t other, int home, enum step_kind kind)
{
	struct step first = { .kind = STEP_ADD }, second = { .kind = kind, .at = FAR };
	struct script a = { &first, 1 }, b = { &second, 1 };
	uint64_t took;

	toy_begin("", 1);
	first.addr = second.addr = arena_alloc(64, home, "line", NULL);
	sim_spawn(owner, toy_body, &a, 0);
	sim_spawn(other, toy_body, &b, 0);
	sim_run();
	took = second.took;
	toy_end();
	return took;
}

static void transfers_take_what_the_machine_file_says(void)
{
	/* The op itself (15) comes on top of the transfer. */
	CHECK_EQ(transfer(0, 1, 0, STEP_ADD), 35 * NS);	 /* same LLC */
	CHECK_EQ(transfer(0, 2, 0, STEP_ADD), 115 * NS); /* other LLC, home here */
	CHECK_EQ(transfer(0, 4, 0, STEP_ADD), 315 * NS); /* other package, home at the owner */
	CHECK_EQ(transfer(0, 4, 1, STEP_ADD), 315 * NS); /* home at the requester */
	CHECK_EQ(transfer(0, 2, 1, STEP_ADD), 325 * NS); /* one package, home in the other */
	CHECK_EQ(transfer(0, 1, 1, STEP_ADD), 35 * NS);	 /* one LLC: the home does not matter */
	CHECK_EQ(transfer(0, 8, 0, STEP_ADD), 15 * NS);	 /* SMT siblings share the core's cache */
	CHECK_EQ(transfer(0, 4, 0, STEP_LOAD),
		 304 * NS); /* a load of a modified line travels as far */
}

static void hits_and_cold_misses(void)
{
	struct step s[] = {
		{ .kind = STEP_LOAD },
		{ .kind = STEP_LOAD, .at = FAR },
		{ .kind = STEP_ADD, .at = 2 * FAR },
		{ .kind = STEP_STORE, .at = 3 * FAR },
		{ .kind = STEP_FENCE, .at = 4 * FAR },
	};
	struct script script = { s, 5 };

	toy_begin("", 1);
	for (int i = 0; i < 4; i++)
		s[i].addr = arena_alloc(64, 0, "line", NULL);
	s[1].addr = s[2].addr = s[3].addr = s[0].addr;
	sim_spawn(0, toy_body, &script, 0);
	sim_run();
	CHECK(s[0].took >= 80 * NS && s[0].took < 130 * NS); /* memory + a request leg + the load */
	CHECK_EQ(s[1].took, 4 * NS);
	CHECK_EQ(s[2].took, 15 * NS); /* the first reader has it exclusively */
	CHECK_EQ(s[3].took, 1 * NS);
	CHECK_EQ(s[4].took, 12 * NS);
	toy_end();
}

static void readers_share_until_a_write(void)
{
	struct step w[] = { { .kind = STEP_ADD }, { .kind = STEP_ADD, .at = 4 * FAR } };
	struct step r[4][2] = {
		{ { .kind = STEP_LOAD, .at = FAR }, { .kind = STEP_LOAD, .at = 2 * FAR } },
		{ { .kind = STEP_LOAD, .at = FAR }, { .kind = STEP_LOAD, .at = 5 * FAR } }
	};
	struct script ws = { w, 2 }, rs[2] = { { r[0], 2 }, { r[1], 2 } };
	uint64_t *line;

	toy_begin("", 1);
	line = arena_alloc(64, 0, "line", NULL);
	w[0].addr = w[1].addr = line;
	for (int i = 0; i < 2; i++)
		r[i][0].addr = r[i][1].addr = line;
	sim_spawn(0, toy_body, &ws, 0);
	sim_spawn(2, toy_body, &rs[0], 0);
	sim_spawn(4, toy_body, &rs[1], 0);
	sim_run();
	CHECK(r[0][0].took > 90 * NS);
	CHECK_EQ(r[0][1].took, 4 * NS); /* its own copy */
	CHECK(w[1].took > 100 * NS); /* has to invalidate both copies, one in the other package */
	CHECK(r[1][1].took > 250 * NS); /* and this copy is gone */
	toy_end();
}

static void plain_stores_do_not_wait_but_fences_do(void)
{
	struct step owner = { .kind = STEP_ADD };
	struct step s[] = { { .kind = STEP_STORE, .at = FAR },
			    { .kind = STEP_LOAD },
			    { .kind = STEP_FENCE } };
	struct script a = { &owner, 1 }, b = { s, 3 };

	toy_begin("", 1);
	owner.addr = s[0].addr = s[1].addr = arena_alloc(64, 0, "line", NULL);
	sim_spawn(0, toy_body, &a, 0);
	sim_spawn(4, toy_body, &b, 0);
	sim_run();
	CHECK_EQ(s[0].took, 1 * NS); /* into the buffer */
	CHECK_EQ(s[1].took, 4 * NS); /* forwarded from there */
	/* The line comes 300 after the store, which then takes 1; the fence 12 more. */
	CHECK_EQ(s[0].took + s[1].took + s[2].took, 313 * NS);
	toy_end();
}

static void full_store_buffer_stalls(void)
{
	struct step owner[6], s[6];
	struct script a = { owner, 6 }, b = { s, 6 };

	memset(owner, 0, sizeof(owner));
	memset(s, 0, sizeof(s));
	toy_begin("", 1);
	for (int i = 0; i < 6; i++) {
		owner[i].kind = STEP_ADD;
		s[i].kind = STEP_STORE;
		s[i].at = i ? 0 : FAR;
		owner[i].addr = s[i].addr = arena_alloc(64, 0, "line", NULL);
	}
	sim_spawn(0, toy_body, &a, 0);
	sim_spawn(4, toy_body, &b, 0);
	sim_run();
	for (int i = 0; i < 4; i++)
		CHECK_EQ(s[i].took, 1 * NS); /* four entries */
	CHECK(s[4].took > 250 * NS);	     /* the fifth waits for the first one's line */
	toy_end();
}

/* All 16 CPUs hammer one line; returns the longest that one operation took, picoseconds. */
static uint64_t hammer(const char *protocol, uint64_t *total)
{
	struct step s[16];
	struct script script[16];
	uint64_t longest = 0, *line;

	toy_begin(protocol, 1);
	line = arena_alloc(64, 0, "line", NULL);
	for (uint32_t i = 0; i < 16; i++) {
		s[i] = (struct step){ .kind = STEP_LOOP_ADD, .addr = line, .n = 200 };
		script[i] = (struct script){ &s[i], 1 };
		sim_spawn(i, toy_body, &script[i], i);
	}
	*total = sim_run();
	CHECK_EQ(*line, 16 * 200);
	for (uint32_t i = 0; i < sim_stats()->n; i++)
		if (sim_stats()->rec[i].load_max > longest)
			longest = sim_stats()->rec[i].load_max;
	toy_end();
	return longest;
}

static void near_first_is_faster_and_starves_nobody(void)
{
	/* 16 threads, each of which takes the line over the longest way and uses it once. */
	uint64_t once_round = 16 * (310 + 15) * NS, near, fifo;

	/* Before a request is served, each thread before it had the line at most once... */
	CHECK(hammer("near_rounds = 0", &fifo) <= once_round);
	/* ...or, near ones first, once more. */
	CHECK(hammer("", &near) <= 2 * once_round);
	CHECK(near < fifo);
}

static void same_seed_same_result(void)
{
	uint64_t a, b;

	hammer("", &a);
	hammer("", &b);
	CHECK_EQ(a, b);
}

static void statistics_tell_local_from_remote(void)
{
	struct step s[3] = { { .kind = STEP_ADD },
			     { .kind = STEP_ADD, .at = FAR },
			     { .kind = STEP_LOAD, .at = 2 * FAR } };
	struct script script[3] = { { &s[0], 1 }, { &s[1], 1 }, { &s[2], 1 } };
	uint64_t local = 0, remote = 0, loads = 0, stores = 0;
	const struct stats *st;

	toy_begin("", 1);
	s[0].addr = s[1].addr = s[2].addr = arena_alloc(64, 0, "line", NULL);
	sim_spawn(0, toy_body, &script[0], 0);
	sim_spawn(2, toy_body, &script[1], 0); /* same package, modified by CPU 0: local HITM */
	sim_spawn(4, toy_body, &script[2], 0); /* other package, modified by CPU 2: remote HITM */
	sim_run();
	st = sim_stats();
	for (uint32_t i = 0; i < st->n; i++) {
		local += st->rec[i].hitm_local;
		remote += st->rec[i].hitm_remote;
		loads += st->rec[i].loads;
		stores += st->rec[i].stores;
	}
	CHECK_EQ(local, 1);
	CHECK_EQ(remote, 1);
	CHECK_EQ(loads, 3);
	CHECK_EQ(stores, 2);
	CHECK_EQ(sim_lines_touched(), 1);
	toy_end();
}

static void interrupts_end_computing(void)
{
	struct step s[] = {
		{ .kind = STEP_COMPUTE, .n = 50 * NS }, /* nobody interrupts */
		{ .kind = STEP_COMPUTE },		/* idle until FAR + 1 */
		{ .kind = STEP_COMPUTE, .n = FAR / 2 }, /* the timer of before is stale */
		{ .kind = STEP_COMPUTE,
		  .n = 5 * FAR,
		  .at = 3 * FAR }, /* interrupted before: at once */
	};
	struct step irq[] = { { .kind = STEP_INTERRUPT, .n = 0, .at = FAR },
			      { .kind = STEP_INTERRUPT, .n = 0, .at = 2 * FAR } };
	struct script a = { s, 4 }, b = { irq, 2 };

	toy_begin("", 1);
	sim_spawn(0, toy_body, &a, 0);
	sim_spawn(1, toy_body, &b, 0);
	sim_run();
	CHECK_EQ(s[0].took, 50 * NS);
	CHECK_EQ(s[1].took, FAR + 1 * NS - 50 * NS);
	CHECK_EQ(s[2].took, FAR / 2);
	CHECK_EQ(s[3].took, 0);
	toy_end();
}

int main(void)
{
	static void (*const test[])(void) = {
		transfers_take_what_the_machine_file_says,
		hits_and_cold_misses,
		readers_share_until_a_write,
		plain_stores_do_not_wait_but_fences_do,
		full_store_buffer_stalls,
		near_first_is_faster_and_starves_nobody,
		same_seed_same_result,
		statistics_tell_local_from_remote,
		interrupts_end_computing,
	};
	unsigned int n = sizeof(test) / sizeof(test[0]);

	for (unsigned int i = 0; i < n; i++)
		test[i]();
	printf("%u passed, 0 failed\n", n);
	return 0;
}
