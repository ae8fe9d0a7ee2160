// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Compares the model's times on the toy machine (in ns) with those computed by hand. A transfer
 * takes the machine file's time, near CPUs do not pay for far ones, and no queue starves a CPU.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"
#include "sim.h"
#include "toy.h"

/* @owner modifies a line of home node @home. Returns how long a later access of @other takes. */
static uint64_t transfer(uint32_t owner, uint32_t other, int home, enum step_kind kind)
{
	struct step first[] = { { .kind = STEP_ADD } }, second[] = { { .kind = kind, .at = FAR } };

	toy_begin("", 1);
	first[0].addr = second[0].addr = arena_alloc(64, home, "line", NULL);
	TOY_PLAY(SCRIPT(owner, first), SCRIPT(other, second));
	toy_end();
	return second[0].took;
}

static void transfers_take_what_the_machine_file_says(void)
{
	/* Each time is the transfer plus the operation itself, 15. */
	CHECK_EQ(transfer(0, 1, 0, STEP_ADD), 35 * NS);	 /* same LLC */
	CHECK_EQ(transfer(0, 2, 0, STEP_ADD), 115 * NS); /* other LLC, home here */
	CHECK_EQ(transfer(0, 4, 0, STEP_ADD), 315 * NS); /* other package, home at the owner */
	CHECK_EQ(transfer(0, 4, 1, STEP_ADD), 315 * NS); /* home at the requester */
	CHECK_EQ(transfer(0, 2, 1, STEP_ADD), 325 * NS); /* one package, home in the other */
	CHECK_EQ(transfer(0, 1, 1, STEP_ADD), 35 * NS);	 /* one LLC: the home does not matter */
	CHECK_EQ(transfer(0, 8, 0, STEP_ADD), 15 * NS);	 /* SMT siblings share the core's cache */
	CHECK_EQ(transfer(0, 4, 0, STEP_LOAD),
		 304 * NS); /* a load of a modified line takes the same transfer */
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

	toy_begin("", 1);
	TOY_PLAY(SCRIPT(0, s));
	CHECK(s[0].took >= 80 * NS && s[0].took < 130 * NS); /* memory + a request leg + the load */
	CHECK_EQ(s[1].took, 4 * NS);
	CHECK_EQ(s[2].took, 15 * NS); /* the first reader got the line exclusively */
	CHECK_EQ(s[3].took, 1 * NS);
	CHECK_EQ(s[4].took, 12 * NS);
	toy_end();
}

static void readers_share_until_a_write(void)
{
	struct step w[] = { { .kind = STEP_ADD }, { .kind = STEP_ADD, .at = 4 * FAR } };
	struct step r[2][2] = {
		{ { .kind = STEP_LOAD, .at = FAR }, { .kind = STEP_LOAD, .at = 2 * FAR } },
		{ { .kind = STEP_LOAD, .at = FAR }, { .kind = STEP_LOAD, .at = 5 * FAR } }
	};

	toy_begin("", 1);
	TOY_PLAY(SCRIPT(0, w), SCRIPT(2, r[0]), SCRIPT(4, r[1]));
	CHECK(r[0][0].took > 90 * NS);
	CHECK_EQ(r[0][1].took, 4 * NS); /* its own copy */
	CHECK(w[1].took > 100 * NS);	/* invalidates both copies, one in the other package */
	CHECK(r[1][1].took > 250 * NS); /* and this copy is gone */
	toy_end();
}

struct hammered {
	uint64_t longest; /* time of one operation, picoseconds */
	uint64_t total;	  /* picoseconds */
};

/* All 16 CPUs add to one line, 200 times each. */
static struct hammered hammer(const char *protocol, uint64_t seed)
{
	struct hammered h = { 0 };
	struct step s[16];
	struct script script[16];
	struct played p;

	toy_begin(protocol, seed);
	for (uint32_t i = 0; i < 16; i++) {
		s[i] = (struct step){ .kind = STEP_LOOP_ADD, .n = 200 };
		/* CPUs of the two packages in turn: 0, 4, 8, 12, 1, ... */
		script[i] = (struct script){ i, &s[i], 1, i % 4 * 4 + i / 4 };
	}
	p = toy_play(script, 16);
	h.total = p.took;
	CHECK_EQ(*p.line, 16 * 200);
	for (uint32_t i = 0; i < sim_stats()->n; i++)
		if (stats_record(sim_stats(), i)->load_max > h.longest)
			h.longest = stats_record(sim_stats(), i)->load_max;
	toy_end();
	return h;
}

static void near_first_starves_nobody(void)
{
	/* 16 threads, each of which takes the line over the longest way and uses it once. */
	uint64_t once_round = 16 * (310 + 15) * NS;
	struct hammered fifo = hammer("near_rounds = 0", 1), near = hammer("", 1);

	/* While a request waits, each other thread gets the line at most once... */
	CHECK(fifo.longest <= once_round);
	/* ...or, if near requests come first, at most twice. */
	CHECK(near.longest <= 2 * once_round);
}

static void same_seed_same_result(void)
{
	struct hammered a = hammer("", 1), b = hammer("", 1), other = hammer("", 2);

	CHECK_EQ(a.total, b.total);
	CHECK_EQ(a.longest, b.longest);
	CHECK(a.total != other.total); /* the seed varies the acknowledgements */
}

/* CPUs @a and @b alternate on a line: by an add at their turn, or after a load. */
static uint64_t turn(const char *protocol, uint32_t a, uint32_t b, bool load_first)
{
	enum step_kind kind = load_first ? STEP_TURNS_LOAD : STEP_TURNS;
	struct step even[] = { { .kind = kind, .n = 200 } };
	struct step odd[] = { { .kind = kind, .n = 200, .odd = true } };
	uint64_t total;

	toy_begin(protocol, 1);
	total = TOY_PLAY(SCRIPT(a, even), SCRIPT(b, odd)).took;
	toy_end();
	return total / 400;
}

static bool within(uint64_t value, uint64_t expected, uint64_t percent)
{
	return value * 100 >= expected * (100 - percent) &&
	       value * 100 <= expected * (100 + percent);
}

/* A turn takes the latency of the machine file: it does not overlap with the next one. */
static void turns_take_the_latency(void)
{
	CHECK(within(turn("", 0, 2, false), 100 * NS, 10));
	CHECK(within(turn("", 0, 4, false), 300 * NS, 10));
	/* A load before the add costs one more transfer, and the invalidation of the copy. */
	CHECK(within(turn("", 0, 2, true), 200 * NS, 15));
	CHECK(within(turn("", 0, 4, true), 600 * NS, 15));
	/* With a directory in memory the home is busy after each load from the other package. */
	CHECK(within(turn("directory = 1", 0, 4, true), 900 * NS, 15));
	CHECK(within(turn("directory = 1", 0, 2, true), 200 * NS, 15));
}

/* A load from the other package does not wait for a round of near requests. */
static void loads_do_not_wait_for_the_round(void)
{
	struct step s[9] = { 0 };
	struct script script[9];

	toy_begin("", 1);
	for (uint32_t i = 0; i < 8; i++) {
		/* The four cores of package 0 and their siblings. */
		s[i] = (struct step){ .kind = STEP_LOOP_ADD, .n = 2000 };
		script[i] = (struct script){ i < 4 ? i : i + 4, &s[i], 1, i };
	}
	s[8] = (struct step){ .kind = STEP_LOAD, .at = 10 * FAR };
	script[8] = (struct script){ 4, &s[8], 1, 0 };
	toy_play(script, 9);
	toy_end();
	/* The load takes its own transfer, and waits for at most two others. */
	CHECK(s[8].took >= 300 * NS && s[8].took < 600 * NS);
}

/* A sibling does not prolong a core's turn: eight threads of four cores add as fast as four. */
static void siblings_gain_nothing(void)
{
	uint64_t alone = 0, both = 0;
	struct step s[8];
	struct script script[8];

	for (int siblings = 0; siblings < 2; siblings++) {
		uint32_t n = 4u + 4u * (uint32_t)siblings;

		toy_begin("", 1);
		for (uint32_t i = 0; i < n; i++) {
			s[i] = (struct step){ .kind = STEP_LOOP_ADD, .n = 500 };
			script[i] = (struct script){ i < 4 ? i : i + 4, &s[i], 1, i };
		}
		*(siblings ? &both : &alone) = toy_play(script, n).took / (500 * n);
		toy_end();
	}
	CHECK(within(both, alone, 25));
}

#define ROUNDS 20

/* Every CPU reads a table and adds to a counter. Returns a hash of the times of all steps. */
static uint64_t table_and_counter(bool constant)
{
	static struct step step[16][2 * ROUNDS];
	struct script script[16];
	struct played p;
	uint64_t *table;

	toy_begin("", 1);
	table = arena_alloc(sizeof(*table), 0, "table", NULL);
	if (constant)
		arena_constant(table, sizeof(*table));
	for (uint32_t cpu = 0; cpu < 16; cpu++) {
		for (uint64_t i = 0; i < ROUNDS; i++) {
			uint64_t at = FAR + (i * 331 + cpu * 17) * NS;

			step[cpu][2 * i] = (struct step){ at, STEP_LOAD, .addr = table };
			step[cpu][2 * i + 1] = (struct step){ .at = at, .kind = STEP_ADD };
		}
		script[cpu] = SCRIPT(cpu, step[cpu]);
	}
	p = toy_play(script, 16);
	for (uint32_t cpu = 0; cpu < 16; cpu++)
		for (uint32_t i = 0; i < 2 * ROUNDS; i++)
			p.took = p.took * 31 + step[cpu][i].took;
	CHECK_EQ(*p.line, 16 * ROUNDS);
	toy_end();
	return p.took;
}

static void what_is_constant_takes_as_long(void)
{
	CHECK_EQ(table_and_counter(true), table_and_counter(false));
}

static void writing_what_is_constant_ends_the_program(void)
{
	struct step s[] = { { .kind = STEP_LOAD }, { .kind = STEP_STORE, .at = FAR } };
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child) {
		fclose(stderr);
		toy_begin("", 1);
		s[0].addr = s[1].addr = arena_alloc(64, 0, "table", NULL);
		arena_constant(s[0].addr, 64);
		TOY_PLAY(SCRIPT(0, s));
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, true);
}

int main(void)
{
	static void (*const test[])(void) = {
		transfers_take_what_the_machine_file_says,
		hits_and_cold_misses,
		readers_share_until_a_write,
		near_first_starves_nobody,
		same_seed_same_result,
		turns_take_the_latency,
		loads_do_not_wait_for_the_round,
		siblings_gain_nothing,
		what_is_constant_takes_as_long,
		writing_what_is_constant_ends_the_program,
	};

	return TOY_RUN(test);
}
