// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Compares the engine's times (in ns) and values on the toy machine with those computed by hand,
 * for store buffers, interrupts and statistics.
 */
#include <string.h>

#include "arena.h"
#include "sim.h"
#include "stats.h"
#include "toy.h"

static void plain_stores_do_not_wait_but_fences_do(void)
{
	struct step owner[] = { { .kind = STEP_ADD } };
	struct step s[] = { { .kind = STEP_STORE, .at = FAR },
			    { .kind = STEP_LOAD },
			    { .kind = STEP_FENCE } };

	toy_begin("", 1);
	TOY_PLAY(SCRIPT(0, owner), SCRIPT(4, s));
	CHECK_EQ(s[0].took, 1 * NS); /* into the buffer */
	CHECK_EQ(s[1].took, 4 * NS); /* forwarded from there */
	/* The line comes 300 after the store, which then takes 1; the fence 12 more. */
	CHECK_EQ(s[0].took + s[1].took + s[2].took, 313 * NS);
	toy_end();
}

/* CPUs 4 and 5 have copies of 7 when CPU 0 stores 1. CPU 5 reads 7 until its copy is gone. */
static void stores_are_seen_when_they_leave_the_buffer(void)
{
	struct step own[] = { { .kind = STEP_LOOP_ADD, .n = 7 } };
	struct step w[] = {
		{ .kind = STEP_STORE, .at = FAR },
		{ .kind = STEP_LOAD },
		{ .kind = STEP_OBSERVE },
		{ .kind = STEP_FENCE },
		{ .kind = STEP_LOAD },
	};
	struct step r[] = {
		{ .kind = STEP_LOAD, .at = FAR / 2 },
		{ .kind = STEP_LOAD, .at = FAR + 50 * NS },
		{ .kind = STEP_OBSERVE },
		{ .kind = STEP_PLAIN_LOAD, .at = FAR + 70 * NS },
		{ .kind = STEP_LOAD, .at = 2 * FAR },
	};
	struct played p;

	toy_begin("", 1);
	p = TOY_PLAY(SCRIPT(4, own), SCRIPT(0, w), SCRIPT(5, r));
	CHECK_EQ(w[1].n, 1); /* from its own buffer */
	CHECK_EQ(w[2].n, 1);
	CHECK_EQ(w[4].n, 1);
	CHECK_EQ(r[1].n, 7); /* from its old copy */
	CHECK_EQ(r[1].took, 4 * NS);
	CHECK_EQ(r[2].n, 1); /* an observer sees everything */
	CHECK_EQ(r[3].n, 7); /* the observation has changed nothing */
	CHECK_EQ(r[4].n, 1);
	CHECK_EQ(*p.line, 1);
	toy_end();
}

/* Atomic and plain accesses of one CPU, of different sizes, meet in its buffer. */
static void own_stores_are_in_order(void)
{
	struct step own[] = { { .kind = STEP_ADD } };
	struct step w[] = {
		{ .kind = STEP_STORE, .at = FAR },
		{ .kind = STEP_PLAIN_LOAD },
		{ .kind = STEP_PLAIN_STORE },
		{ .kind = STEP_LOAD },
		{ .kind = STEP_STORE },
		{ .kind = STEP_LOAD },
	};
	struct played p;

	toy_begin("", 1);
	p = TOY_PLAY(SCRIPT(4, own), SCRIPT(0, w));
	CHECK_EQ(w[1].n, 1);
	CHECK_EQ(w[3].n, 2);
	CHECK_EQ(w[5].n, 1);
	CHECK_EQ(*p.line, 1); /* stores leave the buffer after the body has returned */
	toy_end();
}

/* A CPU that spins on a word which it stored itself lets the others run. */
static void who_spins_on_an_own_store_waits(void)
{
	struct spin game[2];

	toy_begin("", 1);
	game[0].word = game[1].word = arena_alloc(64, 0, "line", NULL);
	for (int i = 0; i < 2; i++) {
		game[i].player = (uint64_t)i;
		sim_spawn((uint32_t)i * 4, toy_spin, &game[i], 0);
	}
	sim_run();
	CHECK_EQ(*game[0].word, 2 * TOY_TURNS);
	/* A turn takes two transfers: of the value, and of the ownership. */
	CHECK(game[1].took > TOY_TURNS * 2 * 2 * 200 * NS);
	toy_end();
}

static void full_store_buffer_stalls(void)
{
	struct step owner[6], s[6];

	memset(owner, 0, sizeof(owner));
	memset(s, 0, sizeof(s));
	toy_begin("", 1);
	for (int i = 0; i < 6; i++) {
		owner[i].kind = STEP_ADD;
		s[i].kind = STEP_STORE;
		s[i].at = i ? 0 : FAR;
		owner[i].addr = s[i].addr = arena_alloc(64, 0, "line", NULL);
	}
	TOY_PLAY(SCRIPT(0, owner), SCRIPT(4, s));
	for (int i = 0; i < 4; i++)
		CHECK_EQ(s[i].took, 1 * NS); /* four entries */
	CHECK(s[4].took > 250 * NS);	     /* the fifth waits for the first one's line */
	toy_end();
}

static void statistics_tell_local_from_remote(void)
{
	struct step first[] = { { .kind = STEP_ADD } };
	struct step near[] = { { .kind = STEP_ADD, .at = FAR } };
	struct step far[] = { { .kind = STEP_LOAD, .at = 2 * FAR } };
	uint64_t local = 0, remote = 0, loads = 0, stores = 0;
	const struct stats *st;

	toy_begin("", 1);
	/* CPU 2 is in the package of CPU 0: local HITM. CPU 4 is in the other one: remote HITM. */
	TOY_PLAY(SCRIPT(0, first), SCRIPT(2, near), SCRIPT(4, far));
	st = sim_stats();
	for (uint32_t i = 0; i < st->n; i++) {
		local += stats_record(st, i)->hitm_local;
		remote += stats_record(st, i)->hitm_remote;
		loads += stats_record(st, i)->loads;
		stores += stats_record(st, i)->stores;
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
		{ .kind = STEP_COMPUTE, .n = FAR / 2 }, /* the earlier timer is stale */
		{ .kind = STEP_COMPUTE,
		  .n = 5 * FAR,
		  .at = 3 * FAR }, /* an interrupt is pending: ends at once */
	};
	struct step irq[] = { { .kind = STEP_INTERRUPT, .n = 0, .at = FAR },
			      { .kind = STEP_INTERRUPT, .n = 0, .at = 2 * FAR } };

	toy_begin("", 1);
	TOY_PLAY(SCRIPT(0, s), SCRIPT(1, irq));
	CHECK_EQ(s[0].took, 50 * NS);
	CHECK_EQ(s[1].took, FAR + 1 * NS - 50 * NS);
	CHECK_EQ(s[2].took, FAR / 2);
	CHECK_EQ(s[3].took, 0);
	toy_end();
}

/* Accesses of memcpy() have up to 64 bytes. Regression: a size of 32 was recorded as 0. */
static void a_record_has_the_place_and_size_of_its_accesses(void)
{
	static const uint8_t sizes[] = { 1, 2, 4, 8, 16, 32, 64 };
	const char *line = (const char *)ARENA_BASE;
	struct stats s;

	stats_init(&s, 2);
	for (uint32_t i = 0; i < 3 * sizeof(sizes); i++) {
		uint8_t size = sizes[i / 3];

		stats_touch(&s, 0);
		stats_add(&s, i % 2, line + 64 - size, size, ACCESS_STORE, line + i / 3, 1,
			  SOURCE_HIT);
	}
	stats_settle(&s);
	CHECK_EQ(s.n, sizeof(sizes));
	for (uint32_t i = 0; i < s.n; i++) {
		CHECK_EQ(stats_record(&s, i)->records, 3);
		CHECK_EQ(stats_record(&s, i)->size, sizes[i]);
		CHECK_EQ(stats_record(&s, i)->offset, 64 - sizes[i]);
		CHECK_EQ(*stats_place(&s, i)->cpus, 3);
	}
	stats_free(&s);
}

int main(void)
{
	static void (*const test[])(void) = {
		plain_stores_do_not_wait_but_fences_do,
		stores_are_seen_when_they_leave_the_buffer,
		own_stores_are_in_order,
		who_spins_on_an_own_store_waits,
		full_store_buffer_stalls,
		statistics_tell_local_from_remote,
		a_record_has_the_place_and_size_of_its_accesses,
		interrupts_end_computing,
	};

	return TOY_RUN(test);
}
