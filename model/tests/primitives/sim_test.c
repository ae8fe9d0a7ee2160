// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests every primitive and every kind of ping-pong on the simulated toy machine. The machine's
 * interleavings differ from those of a host's threads, and its stores wait in buffers.
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "machine.h"
#include "ping_pong.h"
#include "primitive.h"
#include "sim.h"
#include "sim_futex.h"
#include "toy.h"

#define OPS   60u
#define TURNS 50u

struct meeting {
	const struct primitive *primitive;
	void *state;
	u32 ops;
	u64 hold;  /* picoseconds; other CPUs run meanwhile */
	u64 think; /* longest random time between two operations, picoseconds */
	u32 inside, most_inside;
	u64 holds, took;
};

static void hold(void *arg)
{
	struct meeting *m = arg;

	m->holds++;
	m->inside++;
	if (m->inside > m->most_inside)
		m->most_inside = m->inside;
	sim_compute(m->hold);
	m->inside--;
}

static void body(u32 cpu, void *arg)
{
	struct meeting *m = arg;
	struct primitive_thread me = { cpu, toy_model()->cpu[cpu].number, hold, m };

	for (u32 i = 0; i < m->ops; i++) {
		sim_spend(sim_random() % (m->think + 1));
		m->primitive->ops(m->state, &me, 1 + i % 2);
	}
}

/* Runs @n CPUs, and returns the number of their operations. */
static u64 meet(struct meeting *m, u32 n, u64 seed)
{
	u64 ops = (u64)n * (m->ops / 2 * 3 + m->ops % 2);
	const struct shard_plan_opts few = { .cap = 2 };
	struct shard_plan *plan, *pools;
	int node[16] = { 0 };
	struct primitive_place place = { .nr_threads = n, .home = 0, .node = node };
	static const struct sim_futex_costs costs = {
		.syscall = 100 * NS, .wake = 150 * NS, .schedule = 200 * NS, .ipi_travel = 500 * NS
	};

	toy_begin("", seed);
	CHECK(!shard_plan_build(&plan, &toy_model()->machine->topo, NULL));
	CHECK(!shard_plan_build(&pools, &toy_model()->machine->topo, &few));
	place.plan = plan;
	place.pools = pools;
	m->state = m->primitive->create(&place);
	CHECK(m->state);
	sim_futex_begin(n, 1, node, &costs);
	CHECK(m->primitive->consistent(m->state, 0));
	for (u32 i = 0; i < n; i++)
		sim_spawn(i, body, m, 0);
	m->took = sim_run();
	if (!m->primitive->consistent(m->state, ops)) {
		fprintf(stderr, "%s on %u CPUs, seed %llu, is not consistent\n", m->primitive->name,
			n, (unsigned long long)seed);
		exit(1);
	}
	CHECK_EQ(m->inside, 0);
	return ops;
}

static void part(struct meeting *m)
{
	m->primitive->destroy(m->state);
	sim_futex_end();
	toy_end();
}

/* No update is lost, however operations meet. */
static void all_are_consistent(void)
{
	static const u64 thinks[] = { 0, 30 * NS, 2000 * NS };

	for (const struct primitive *const *p = primitives; *p; p++) {
		for (u64 seed = 0; seed < 12; seed++) {
			static const u32 cpus[] = { 1, 2, 5, 16 };
			struct meeting m = { .primitive = *p,
					     .ops = OPS,
					     .hold = seed % 2 ? 70 * NS : 0,
					     .think = thinks[seed % 3] };
			u64 ops = meet(&m, cpus[seed % 4], seed);

			if (!(*p)->holds)
				CHECK_EQ(m.holds, 0);
			else
				CHECK_EQ(m.holds, ops);
			part(&m);
		}
	}
}

static void a_lock_excludes_and_readers_do_not(void)
{
	for (const struct primitive *const *p = primitives; *p; p++) {
		struct meeting m = { .primitive = *p, .ops = OPS, .hold = 5000 * NS };
		u64 ops;

		if (!(*p)->holds)
			continue;
		ops = meet(&m, 16, 1);
		if ((*p)->sleeps || (strstr((*p)->name, "lock") && !strstr((*p)->name, "read"))) {
			CHECK_EQ(m.most_inside, 1);
			CHECK(m.took >= ops * m.hold);
		} else {
			CHECK(m.most_inside >= 8);
			CHECK(m.took < ops * m.hold / 2);
		}
		part(&m);
	}
}

/* A waiter that spins accesses the lock all the time; a waiter that sleeps does not. */
static void only_a_mutex_lets_its_waiters_sleep(void)
{
	static const char *const names[] = { "mutex-apart", "spinlock-hot-apart" };
	u64 events[2];

	for (u32 i = 0; i < 2; i++) {
		struct meeting m = { .primitive = primitive_find(names[i]),
				     .ops = 10,
				     .hold = 50000 * NS };

		meet(&m, 8, 1);
		events[i] = sim_events();
		part(&m);
	}
	CHECK(events[0] * 100 < events[1]);
}

/* The first word of a counter is its count. */
static void only_the_plain_counter_loses(void)
{
	static const char *const names[] = { "atomic-inc", "cas-loop", "plain-inc" };

	for (u32 i = 0; i < 3; i++) {
		struct meeting m = { .primitive = primitive_find(names[i]), .ops = OPS };
		u64 ops = meet(&m, 2, 1), count = *(const u64 *)m.state;

		CHECK(i < 2 ? count == ops : count < ops);
		part(&m);
	}
}

struct game {
	const struct ping_pong *way;
	u64 *word;
	u64 think;
};

static void play(u32 player, void *arg)
{
	struct game *g = arg;

	player = player ? 1 : 0;
	for (u64 i = 0; i < TURNS; i++) {
		sim_spend(sim_random() % (g->think + 1));
		/* The word gives the turn, and no player is ahead of it. */
		CHECK(*g->word <= 2 * i + player);
		g->way->turns(g->word, 2 * i + player, 1);
	}
	g->way->turns(g->word, 2 * TURNS + player, TURNS);
}

static void turns_alternate(void)
{
	for (const struct ping_pong *way = ping_pongs; way->name; way++) {
		for (u32 seed = 0; seed < 8; seed++) {
			struct game g = { .way = way, .think = seed % 2 ? 1000 * NS : 0 };
			/* sibling, same LLC, other LLC, other package */
			static const u32 other[] = { 8, 1, 2, 4 };

			toy_begin("", seed);
			g.word = arena_alloc(64, 0, "word", NULL);
			sim_spawn(0, play, &g, 0);
			sim_spawn(other[seed % 4], play, &g, 0);
			sim_run();
			CHECK_EQ(*g.word, 4 * TURNS);
			toy_end();
		}
	}
}

/* 5.5 of ten elements on average; each takes two locked operations of 15 ns, and three loads. */
static void a_look_up_ends_at_a_random_element(void)
{
	struct meeting m = { .primitive = primitive_find("list-refcount"), .ops = 1000 };
	u64 ops = meet(&m, 1, 1), each = m.took / ops;

	CHECK(each > 200 * NS && each < 260 * NS);
	part(&m);
}

int main(void)
{
	static void (*const test[])(void) = {
		all_are_consistent,
		a_lock_excludes_and_readers_do_not,
		only_a_mutex_lets_its_waiters_sleep,
		only_the_plain_counter_loses,
		turns_alternate,
		a_look_up_ends_at_a_random_element,
	};

	return TOY_RUN(test);
}
