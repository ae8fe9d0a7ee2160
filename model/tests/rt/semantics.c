// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Small plays: each thread follows its lines, and records time and CPU at some of them. The records
 * must be what the RT class does. The checker is on. All times are further apart than what the toy
 * and a layout cost, some 20 us with cold caches.
 */
#include "cases.h"

#include <string.h>

#include "model.h"
#include "sim.h"
#include "toy.h"

#define US 1000000ull

enum what { COMPUTE, UNTIL, BLOCK, WAKE, LEVEL, NOTE, STOP };

struct line {
	enum what what;
	u64 n; /* COMPUTE: us; UNTIL: us, sleep; WAKE, LEVEL: actor; NOTE: number */
	int level;
};

#define MAX_NOTES 16

struct note {
	u64 us;
	u32 cpu;
	bool made;
};

struct play;

struct actor {
	struct play *play;
	const struct line *line;
	struct rt_thread *thread;
};

struct play {
	struct rt *rt;
	struct actor actor[24];
	u32 n;
	struct note note[MAX_NOTES];
};

static void follow(struct rt_cpu *me, struct rt_thread *t)
{
	struct actor *a = t->arg;
	const struct line *l = a->line++;
	struct play *p = a->play;

	switch (l->what) {
	case COMPUTE:
		t->left = l->n * US;
		return;
	case UNTIL:
		rt_sleep_until(me, l->n * US);
		return;
	case BLOCK:
		rt_block(me);
		return;
	case WAKE:
		rt_syscall_begin(me);
		rt_wake(me, p->actor[l->n].thread->task);
		rt_syscall_end(me);
		break;
	case LEVEL:
		rt_syscall_begin(me);
		rt_set_level(me, p->actor[l->n].thread->task, l->level);
		rt_syscall_end(me);
		break;
	case NOTE:
		p->note[l->n] = (struct note){ sim_now() / US, rt_cpu_number(me), true };
		break;
	case STOP:
		rt_stop(me);
		rt_block(me);
		return;
	}
	t->left = 1;
}

static u32 enter(struct play *p, u32 cpu, int level, unsigned long allowed, const struct line *line)
{
	struct actor *a = &p->actor[p->n];

	a->play = p;
	a->line = line;
	a->thread = rt_thread_new(p->rt, cpu, level, &allowed, follow, a);
	return p->n++;
}

static void perform(struct play *p)
{
	rt_run(p->rt);
	CHECK(rt_checks_made(p->rt) > 0);
}

static void noted(const struct play *p, u32 i, u64 from, u64 to)
{
	CHECK(p->note[i].made);
	if (p->note[i].us < from || p->note[i].us > to) {
		fprintf(stderr, "note %u at %llu us, expected %llu to %llu\n", i,
			(unsigned long long)p->note[i].us, (unsigned long long)from,
			(unsigned long long)to);
		exit(1);
	}
}

static void woken_high_preempts(struct play *p)
{
	static const struct line low[] = { { COMPUTE, 200, 0 }, { NOTE, 0, 0 }, { STOP, 0, 0 } };
	static const struct line high[] = { { UNTIL, 50, 0 },
					    { NOTE, 1, 0 },
					    { COMPUTE, 100, 0 },
					    { UNTIL, 1000, 0 },
					    { BLOCK, 0, 0 } };

	enter(p, 3, 10, 1ul << 3, low);
	enter(p, 3, 20, 1ul << 3, high);
	perform(p);
	noted(p, 1, 50, 80);
	noted(p, 0, 300, 360); /* 200 us of this task, 100 of the other */
}

static void equal_waits(struct play *p)
{
	static const struct line first[] = { { COMPUTE, 200, 0 }, { NOTE, 0, 0 }, { BLOCK, 0, 0 } };
	static const struct line second[] = { { UNTIL, 50, 0 }, { NOTE, 1, 0 }, { STOP, 0, 0 } };

	enter(p, 3, 10, 1ul << 3, first);
	enter(p, 3, 10, 1ul << 3, second);
	perform(p);
	noted(p, 0, 200, 240);
	CHECK(p->note[1].us >= p->note[0].us);
}

/* Two tasks may use only two CPUs, both busy: they wait, though 14 other CPUs are free. */
static void affinity_is_kept(struct play *p)
{
	static const struct line busy[] = { { COMPUTE, 300, 0 }, { BLOCK, 0, 0 } };
	static const struct line a[] = { { UNTIL, 50, 0 }, { NOTE, 0, 0 }, { BLOCK, 0, 0 } };
	static const struct line b[] = {
		{ UNTIL, 60, 0 }, { NOTE, 1, 0 }, { COMPUTE, 50, 0 }, { STOP, 0, 0 }
	};
	unsigned long pair = 1ul << 2 | 1ul << 12;

	enter(p, 2, 50, pair, busy);
	enter(p, 12, 50, pair, busy);
	enter(p, 2, 50, pair, a);
	enter(p, 12, 50, pair, b);
	perform(p);
	noted(p, 0, 300, 350);
	noted(p, 1, 300, 350);
	CHECK(pair >> p->note[0].cpu & 1);
	CHECK(pair >> p->note[1].cpu & 1);
}

/*
 * CPUs 0 to 3 run levels 40, 30, 20 and 10. A task of level 50 wakes up on CPU 0, which by then
 * runs one of level 60: it is pushed to CPU 3.
 */
static void push_goes_to_lowest(struct play *p)
{
	static const struct line busy[] = { { COMPUTE, 500, 0 }, { BLOCK, 0, 0 } };
	static const struct line top[] = { { UNTIL, 30, 0 }, { COMPUTE, 500, 0 }, { BLOCK, 0, 0 } };
	static const struct line mid[] = { { UNTIL, 60, 0 }, { NOTE, 0, 0 }, { STOP, 0, 0 } };

	for (u32 i = 0; i < 4; i++)
		enter(p, i, 40 - 10 * (int)i, 1ul << i, busy);
	enter(p, 0, 60, 1ul << 0, top);
	enter(p, 0, 50, 0xf, mid);
	perform(p);
	noted(p, 0, 60, 90);
	CHECK_EQ(p->note[0].cpu, 3);
}

/* A task waits on CPU 0 behind a higher one, until CPU 9 becomes free and pulls it. */
static void fall_pulls(struct play *p)
{
	static const struct line top[] = { { COMPUTE, 500, 0 }, { STOP, 0, 0 } };
	static const struct line wait[] = { { COMPUTE, 20, 0 }, { NOTE, 0, 0 }, { BLOCK, 0, 0 } };
	static const struct line nine[] = { { COMPUTE, 100, 0 }, { BLOCK, 0, 0 } };
	unsigned long pair = 1ul << 0 | 1ul << 9;

	enter(p, 9, 90, 1ul << 9, nine);
	enter(p, 0, 80, 1ul << 0, top);
	enter(p, 0, 70, pair, wait);
	perform(p);
	noted(p, 0, 120, 160);
	CHECK_EQ(p->note[0].cpu, 9);
}

/* The checker compares overload set and queues; this test shows that they were not empty. */
static void overload_comes_and_goes(struct play *p)
{
	static const struct line busy[] = { { COMPUTE, 100, 0 }, { BLOCK, 0, 0 } };
	static const struct line end[] = { { UNTIL, 400, 0 }, { STOP, 0, 0 } };
	unsigned long pair = 1ul << 4 | 1ul << 5;
	struct rt_stats s;

	for (u32 i = 0; i < 4; i++)
		enter(p, 4 + i % 2, 30, pair, busy);
	enter(p, 0, 30, 1ul, end);
	perform(p);
	s = rt_stats(p->rt);
	CHECK(s.overloads >= 2);
	CHECK(s.stacked >= 2);
	CHECK(s.push_tries >= 2);
}

static void raised_waiter_preempts(struct play *p)
{
	static const struct line low[] = { { COMPUTE, 200, 0 }, { BLOCK, 0, 0 } };
	static const struct line waiter[] = { { UNTIL, 50, 0 }, { NOTE, 0, 0 }, { STOP, 0, 0 } };
	static const struct line boss[] = { { UNTIL, 100, 0 }, { LEVEL, 1, 40 }, { BLOCK, 0, 0 } };

	enter(p, 3, 30, 1ul << 3, low);
	enter(p, 3, 20, 1ul << 3, waiter);
	enter(p, 7, 20, 1ul << 7, boss);
	perform(p);
	noted(p, 0, 100, 140);
}

void semantics(const struct rd_ops *ops)
{
	static void (*const plays[])(
		struct play * p) = { woken_high_preempts,   equal_waits, affinity_is_kept,
				     push_goes_to_lowest,   fall_pulls,	 overload_comes_and_goes,
				     raised_waiter_preempts };

	for (u32 i = 0; i < 2 * sizeof(plays) / sizeof(*plays); i++) {
		struct play p = { 0 };

		toy_begin("", 1);
		p.rt = rt_create(toy_model(), ops, &toy_costs, 0, i % 2);
		CHECK(p.rt);
		rt_check(p.rt, RT_CHECK_PLACEMENT);
		plays[i / 2](&p);
		rt_free(p.rt);
		toy_end();
	}
}
