// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Small scripted cases: each thread executes its steps, and records time and CPU at some of them.
 * The records must agree with what the fair class does. The checker is on. All times are further
 * apart than what the toy and a layout cost, some 20 us with cold caches.
 *
 * The toy has a tick every 100 us and two cores per LLC; its CPU number is 8 * thread + core.
 */
#include "cases.h"

#include <string.h>

#include "model.h"
#include "sim.h"
#include "toy.h"

#define US     1000000ull
#define ACTORS 24

enum what { COMPUTE, UNTIL, FORK, SEND, RECEIVE, AGAIN, NOTE, STOP };

struct line {
	enum what what;
	u64 n; /* COMPUTE: us; UNTIL: us, sleep; FORK: actor; SEND: channel; AGAIN: lines back */
	u64 times; /* AGAIN; FORK: the last of several actors, one a step */
};

struct note {
	u64 us;
	u32 cpu, times;
};

struct play;

struct actor {
	struct play *play;
	const struct line *script;
	u32 at;
	u64 again, forked;
	struct fair_thread *thread;
	struct note note;
};

struct play {
	struct fair *fair;
	struct actor actor[ACTORS];
	u32 n;
	struct fair_channel *channel[ACTORS];
	struct fair_stats stats;
	u32 in_set; /* at the end */
};

static void look_at_set(struct play *p, struct fair_cpu *me)
{
	p->stats = fair_stats(me);
	p->in_set = (u32)(p->stats.enters - p->stats.exits);
}

static void follow(struct fair_cpu *me, struct fair_thread *t)
{
	struct actor *a = t->arg;
	const struct line *l = &a->script[a->at];
	struct play *p = a->play;

	t->left = 1;
	switch (l->what) {
	case COMPUTE:
		t->left = l->n * US;
		break;
	case UNTIL:
		if (sim_now() < l->n * US) {
			t->left = 0;
			fair_sleep_until(me, l->n * US);
		}
		break;
	case FORK:
		fair_fork(me, p->actor[l->n + a->forked].thread);
		if (l->n + a->forked++ < l->times)
			return;
		a->forked = 0;
		break;
	case SEND:
	case RECEIVE:
		if (l->what == SEND ? fair_send(me, p->channel[l->n])
				    : fair_receive(me, p->channel[l->n]))
			break;
		t->left = 0;
		return; /* the same line again */
	case AGAIN:
		if (++a->again <= l->times)
			a->at -= (u32)l->n + 1;
		break;
	case NOTE:
		a->note.us = sim_now() / US;
		a->note.cpu = fair_task_cpu(t);
		a->note.times++;
		break;
	case STOP:
		look_at_set(p, me);
		fair_stop(me);
		t->left = 0;
		fair_exit(me);
		return;
	}
	a->at++;
}

static u32 add(struct play *p, const struct line *script)
{
	struct actor *a = &p->actor[p->n];

	a->play = p;
	a->script = script;
	a->thread = fair_thread_new(p->fair, follow, a);
	return p->n++;
}

/* Actor 0 exists from the start. */
static void perform(struct play *p)
{
	fair_run(p->fair, p->actor[0].thread);
	CHECK(fair_checks_made(p->fair) > 0);
}

static void idle_cpus_enter_the_set(struct play *p)
{
	static const struct line lone[] = { { COMPUTE, 3000, 0 }, { STOP, 0, 0 } };

	add(p, lone);
	perform(p);
	CHECK_EQ(p->stats.enters, 15);
	CHECK_EQ(p->in_set, 15);
}

/* 15 tasks run on the other CPUs, each for longer than a tick. */
static void busy_cpus_leave_it(struct play *p)
{
	static const struct line boss[] = {
		{ UNTIL, 3000, 0 }, { FORK, 1, 15 }, { COMPUTE, 500, 0 }, { STOP, 0, 0 }
	};
	static const struct line hog[] = { { COMPUTE, 5000, 0 }, { NOTE, 0, 0 } };

	add(p, boss);
	for (u32 i = 1; i < 16; i++)
		add(p, hog);
	perform(p);
	CHECK_EQ(p->in_set, 0);
	CHECK(p->stats.exits >= 15);
	for (u32 i = 1; i < 16; i++)
		CHECK_EQ(p->actor[i].note.times, 0);
}

/* 22 tasks for 16 CPUs, and the boss, which sleeps: some share a CPU in slices. */
static void tasks_share_a_cpu(struct play *p)
{
	static const struct line boss[] = { { FORK, 1, 22 }, { UNTIL, 20000, 0 }, { STOP, 0, 0 } };
	static const struct line hog[] = { { COMPUTE, 4000, 0 },
					   { NOTE, 0, 0 },
					   { UNTIL, 1000000, 0 } };
	u64 sum = 0;

	add(p, boss);
	for (u32 i = 1; i < 23; i++)
		add(p, hog);
	perform(p);
	for (u32 i = 1; i < 23; i++) {
		CHECK_EQ(p->actor[i].note.times, 1);
		/* A task takes at least 4 ms, and less than if it ran after two others. */
		CHECK(p->actor[i].note.us >= 4000);
		CHECK(p->actor[i].note.us <= 9500);
		sum += p->actor[i].note.us;
	}
	/* 22 x 4 ms are done by 16 CPUs, all of which work until the last tasks end. */
	CHECK(sum / 22 < 8000);
}

/* Four tasks on an idle machine start on separate cores, in all four LLCs. */
static void new_tasks_spread(struct play *p)
{
	static const struct line boss[] = { { FORK, 1, 4 }, { COMPUTE, 300, 0 }, { STOP, 0, 0 } };
	static const struct line hog[] = { { NOTE, 0, 0 }, { COMPUTE, 5000, 0 } };
	u32 llcs = 0, cores = 0;

	add(p, boss);
	for (u32 i = 1; i < 5; i++)
		add(p, hog);
	perform(p);
	for (u32 i = 1; i < 5; i++) {
		CHECK_EQ(p->actor[i].note.times, 1);
		cores |= 1u << p->actor[i].note.cpu % 8;
		llcs |= 1u << p->actor[i].note.cpu % 8 / 2;
	}
	CHECK_EQ(__builtin_popcount(cores | 1), 5); /* the boss is on core 0 */
	CHECK_EQ(__builtin_popcount(llcs), 4);
}

/* Two senders send more messages than the channel can hold: each arrives once. */
static void messages_arrive(struct play *p)
{
	static const struct line boss[] = { { FORK, 1, 3 }, { UNTIL, 20000, 0 }, { STOP, 0, 0 } };
	static const struct line sender[] = {
		{ SEND, 0, 0 }, { AGAIN, 1, 99 }, { NOTE, 0, 0 }, { UNTIL, 1000000, 0 }
	};
	static const struct line receiver[] = { { RECEIVE, 0, 0 }, { AGAIN, 1, 199 },
						{ NOTE, 0, 0 },	   { UNTIL, 500, 0 },
						{ RECEIVE, 0, 0 }, { NOTE, 0, 0 } };

	p->channel[0] = fair_channel_new(p->fair, 0, 8, 2);
	add(p, boss);
	add(p, receiver);
	add(p, sender);
	add(p, sender);
	perform(p);
	CHECK_EQ(p->actor[2].note.times, 1);
	CHECK_EQ(p->actor[3].note.times, 1);
	CHECK_EQ(p->actor[1].note.times, 1); /* 200, and no 201st */
}

/*
 * One sender, alone on its CPU, wakes ten receivers one after the other, so that all start in its
 * LLC of four CPUs. They compute; the other 12 CPUs have no tick. No CPU runs out of tasks, so only
 * a balancer can help. All tasks must end within the time of two rounds.
 */
static void balancer_empties_an_overloaded_cache(struct play *p)
{
	static const struct line sender[] = {
		{ FORK, 1, 10 },       { UNTIL, 5000, 0 }, { SEND, 1, 0 }, { SEND, 2, 0 },
		{ SEND, 3, 0 },	       { SEND, 4, 0 },	   { SEND, 5, 0 }, { SEND, 6, 0 },
		{ SEND, 7, 0 },	       { SEND, 8, 0 },	   { SEND, 9, 0 }, { SEND, 10, 0 },
		{ COMPUTE, 20000, 0 }, { STOP, 0, 0 }
	};
	static struct line receiver[10][5];

	add(p, sender);
	for (u64 i = 0; i < 10; i++) {
		const struct line lines[5] = { { RECEIVE, i + 1, 0 },
					       { COMPUTE, 5000, 0 },
					       { NOTE, 0, 0 },
					       { UNTIL, 1000000, 0 } };

		memcpy(receiver[i], lines, sizeof(lines));
		p->channel[i + 1] = fair_channel_new(p->fair, 0, 8, 1);
		add(p, receiver[i]);
	}
	perform(p);
	CHECK(p->stats.idle_pulls > 0);
	CHECK(p->stats.balances > 0);
	for (u32 i = 1; i < 11; i++) {
		CHECK_EQ(p->actor[i].note.times, 1);
		CHECK(p->actor[i].note.us < 5000 + 2 * 5000 + 2000);
	}
}

/* 16 long tasks and 6 short ones for 16 CPUs: a CPU without tasks takes a waiting one at once. */
static void who_runs_out_of_tasks_takes_one(struct play *p)
{
	static const struct line boss[] = { { FORK, 1, 22 }, { COMPUTE, 6000, 0 }, { STOP, 0, 0 } };
	static const struct line brief[] = { { COMPUTE, 400, 0 }, { UNTIL, 1000000, 0 } };
	static const struct line lasting[] = { { COMPUTE, 2000, 0 },
					       { NOTE, 0, 0 },
					       { UNTIL, 1000000, 0 } };

	add(p, boss);
	for (u32 i = 1; i < 23; i++)
		add(p, i < 17 ? lasting : brief);
	perform(p);
	/* The idle balancer may be the first to take a task. */
	CHECK(p->stats.newidle_pulls + p->stats.idle_pulls > 0);
	for (u32 i = 1; i < 17; i++) {
		CHECK_EQ(p->actor[i].note.times, 1);
		CHECK(p->actor[i].note.us < 5500);
	}
}

void plays(const struct idle_ops *ops)
{
	static void (*const all[])(struct play * p) = { idle_cpus_enter_the_set,
							busy_cpus_leave_it,
							tasks_share_a_cpu,
							new_tasks_spread,
							messages_arrive,
							balancer_empties_an_overloaded_cache,
							who_runs_out_of_tasks_takes_one };

	for (u32 i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct play p = { 0 };

		toy_begin("", 1);
		p.fair = fair_create(toy_model(), ops, &toy_costs, 0);
		CHECK(p.fair);
		fair_check(p.fair);
		all[i](&p);
		for (u32 c = 0; c < ACTORS; c++)
			if (p.channel[c])
				fair_channel_free(p.channel[c]);
		fair_free(p.fair);
		toy_end();
	}
}
