// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * pi_stress -g N/2. A group has three threads of rising FIFO priority, which are pinned to one CPU:
 * low, med and high. low and high lock a mutex with priority inheritance. There are five barriers:
 * LOOP, START and FINISH of all three threads, LOCKED of low and high, ELEVATE of low and med. One
 * round is one inversion. In a round
 *
 * - all three first take a second, plain mutex of the group to ask "go on?", and meet at LOOP. The
 *   last thread at LOOP then takes the mutex of all groups to read the flag that ends the program.
 *   All meet at START.
 * - low locks, meets at LOCKED and ELEVATE, unlocks while boosted by high, and meets at FINISH.
 * - med meets at ELEVATE and FINISH. Without the boost med would keep low from running forever.
 * - high meets at LOCKED, locks (sleeps, and lends its priority to low), unlocks, meets at FINISH.
 *
 * Barriers are those of glibc: a counter, and a futex for threads that come before the last one.
 * The mutex of all groups is glibc's default mutex: a word, and a futex.
 *
 * Each thread may run on only one CPU: no task is pushed or pulled, and no CPU is ever in the
 * overload set. CPUs share only the priority map, with a dozen or more level changes per round, and
 * the mutex of all groups, once per round.
 */
#include <stdlib.h>

#include "arena.h"
#include "machine.h"
#include "rt/lock.h"
#include "rt_body.h"

struct barrier {
	u32 round, here;
};

/* State that a group shares, in simulated memory; the futexes have their own lines. */
struct shared {
	struct barrier loop, start, locked, elevate, finish;
	u32 loop_mutex; /* never contended: its threads share a CPU, and no step is preempted */
	u32 going;
	u32 wait_lock; /* wait_lock of the mutex, as in the kernel */
	u32 owned;
};

enum role { LOW, MED, HIGH, ROLES };

struct group;

struct player {
	struct group *g;
	struct rt_thread *thread;
	enum role role;
	u32 step, seen;
	bool waits, last; /* last: the last thread at the barrier loop */
};

/* What all groups share. */
struct process {
	u32 mutex; /* 0: free, 1: taken, 2: with waiters */
	u32 ended;
};

struct game {
	struct process *process;
	struct rt_futex *mutex;
	struct rt_phase phase;
	u64 work, inversions;
};

struct group {
	struct game *game;
	struct shared *s;
	struct rt_futex *loop, *start, *locked, *elevate, *finish;
	struct player player[ROLES];
	struct rt_thread *waiter; /* of the mutex */
};

static int level_of(enum role role)
{
	return 1 + (int)role;
}

/*
 * Wait at a barrier. Return: true if all threads are here; false if the thread sleeps, and calls
 * again when woken.
 */
static bool meet(struct rt_cpu *me, struct player *p, struct barrier *b, struct rt_futex *f, u32 n)
{
	if (!p->waits) {
		p->seen = READ_ONCE(b->round);
		if (__atomic_add_fetch(&b->here, 1, __ATOMIC_SEQ_CST) == n) {
			WRITE_ONCE(b->here, 0);
			__atomic_fetch_add(&b->round, 1, __ATOMIC_SEQ_CST);
			rt_futex_wake(me, f, n);
			p->last = true;
			return true;
		}
		p->waits = true;
		p->last = false;
	}
	while (READ_ONCE(b->round) == p->seen)
		if (rt_futex_wait(me, f, &b->round, p->seen))
			return false;
	p->waits = false;
	return true;
}

/*
 * Lock the mutex with priority inheritance. True: the thread owns it, at once or because the owner
 * passed it on.
 */
static bool lock_pi(struct rt_cpu *me, struct player *p)
{
	struct group *g = p->g;
	u32 free = 0;

	if (p->waits) {
		p->waits = false;
		return true;
	}
	if (__atomic_compare_exchange_n(&g->s->owned, &free, 1, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST))
		return true;
	rt_syscall_begin(me);
	rt_lock(&g->s->wait_lock);
	if (!READ_ONCE(g->s->owned)) {
		WRITE_ONCE(g->s->owned, 1);
		rt_unlock(&g->s->wait_lock);
		rt_syscall_end(me);
		return true;
	}
	WRITE_ONCE(g->s->owned, 2); /* has a waiter: the owner must call the kernel */
	g->waiter = p->thread;
	p->waits = true;
	rt_set_level(me, g->player[LOW].thread->task, level_of(p->role));
	rt_block(me);
	rt_unlock(&g->s->wait_lock);
	return false;
}

static void unlock_pi(struct rt_cpu *me, struct player *p)
{
	struct group *g = p->g;
	struct rt_thread *next;
	u32 mine = 1;

	if (__atomic_compare_exchange_n(&g->s->owned, &mine, 0, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST))
		return;
	rt_syscall_begin(me);
	rt_lock(&g->s->wait_lock);
	next = g->waiter;
	g->waiter = NULL;
	WRITE_ONCE(g->s->owned, 1); /* the waiter owns the mutex now */
	rt_set_level(me, p->thread->task, level_of(p->role));
	rt_unlock(&g->s->wait_lock);
	rt_wake(me, next->task);
	rt_syscall_end(me);
	if (rt_body_phase(me, &g->game->phase))
		g->game->inversions++;
}

/* Lock and unlock the group's mutex around one load. */
static void look_at_loop(struct shared *s)
{
	u32 free = 0;

	PORT_WARN_ON(!__atomic_compare_exchange_n(&s->loop_mutex, &free, 1, false, __ATOMIC_ACQUIRE,
						  __ATOMIC_RELAXED));
	PORT_WARN_ON(READ_ONCE(s->going));
	__atomic_exchange_n(&s->loop_mutex, 0, __ATOMIC_RELEASE);
}

/*
 * Lock and unlock the mutex of all groups around one load. False if the thread must sleep first; it
 * then calls this function again.
 */
static bool look_at_end(struct rt_cpu *me, struct player *p)
{
	struct game *game = p->g->game;
	u32 *mutex = &game->process->mutex;
	u32 free = 0;

	if (p->waits || !__atomic_compare_exchange_n(mutex, &free, 1, false, __ATOMIC_ACQUIRE,
						     __ATOMIC_RELAXED))
		while (__atomic_exchange_n(mutex, 2, __ATOMIC_ACQUIRE)) {
			p->waits = true;
			if (rt_futex_wait(me, game->mutex, mutex, 2))
				return false;
		}
	p->waits = false;
	PORT_WARN_ON(READ_ONCE(game->process->ended));
	if (__atomic_exchange_n(mutex, 0, __ATOMIC_RELEASE) == 2)
		rt_futex_wake(me, game->mutex, 1);
	return true;
}

enum { ASK, LOOP, END, START, LOCK, LOCKED, ELEVATE, INHERIT, UNLOCK, FINISH, STEPS };

static bool has_step(const struct player *p, u32 step)
{
	switch (step) {
	case END:
		return p->last;
	case LOCK:
		return p->role == LOW;
	case LOCKED:
	case UNLOCK:
		return p->role != MED;
	case ELEVATE:
		return p->role != HIGH;
	case INHERIT:
		return p->role == HIGH;
	}
	return true;
}

/* One step of a thread's round; false if it sleeps before the step is complete. */
static bool step(struct rt_cpu *me, struct player *p)
{
	struct group *g = p->g;

	switch (p->step) {
	case ASK:
		look_at_loop(g->s);
		return true;
	case LOOP:
		return meet(me, p, &g->s->loop, g->loop, ROLES);
	case END:
		return look_at_end(me, p);
	case START:
		return meet(me, p, &g->s->start, g->start, ROLES);
	case LOCK:
	case INHERIT:
		return lock_pi(me, p);
	case LOCKED:
		return meet(me, p, &g->s->locked, g->locked, 2);
	case ELEVATE:
		return meet(me, p, &g->s->elevate, g->elevate, 2);
	case UNLOCK:
		unlock_pi(me, p);
		return true;
	}
	return meet(me, p, &g->s->finish, g->finish, ROLES);
}

static void play(struct rt_cpu *me, struct rt_thread *t)
{
	struct player *p = t->arg;

	rt_body_phase(me, &p->g->game->phase);
	if (!step(me, p))
		return;
	do
		p->step = (p->step + 1) % STEPS;
	while (!has_step(p, p->step));
	t->left = p->g->game->work;
}

static void make_group(struct run *run, struct rt *rt, struct game *game, struct group *g, u32 cpu)
{
	u32 words = (run->machine->topo.nr_cpus + 63) / 64;
	unsigned long *mask = calloc(words, sizeof(*mask));
	int node = run->machine->topo.cpu[cpu].node;

	if (!mask)
		abort();
	mask[cpu / 64] = 1ul << (cpu % 64);
	g->game = game;
	g->s = arena_alloc(sizeof(*g->s), node, "group", "struct shared");
	g->loop = rt_futex_new(node);
	g->start = rt_futex_new(node);
	g->locked = rt_futex_new(node);
	g->elevate = rt_futex_new(node);
	g->finish = rt_futex_new(node);
	for (u32 i = 0; i < ROLES; i++) {
		g->player[i] = (struct player){ .g = g, .role = i };
		g->player[i].thread =
			rt_thread_new(rt, cpu, level_of(i), mask, play, &g->player[i]);
	}
	free(mask);
}

static int execute(struct run *run)
{
	u32 groups = (u32)(run->model->nr_cpus * run_param(run, "groups_per_cpu") + 0.5);
	struct game game = { .phase = rt_body_phases(run), .work = rt_body_ps(run, "work_us") };
	struct group *group;
	struct rt *rt;

	if (!groups)
		groups = 1;
	if (!game.work)
		return run_fail(run, "work_us must be more than 0");
	rt = rt_body_create(run);
	if (!rt)
		return -1;
	group = calloc(groups, sizeof(*group));
	if (!group)
		abort();
	game.process = arena_alloc(sizeof(*game.process), -1, "process", "struct process");
	game.mutex = rt_futex_new(-1);
	for (u32 i = 0; i < groups; i++)
		make_group(run, rt, &game, &group[i],
			   run->model->cpu[i % run->model->nr_cpus].number);
	run->simulated = rt_run(rt);
	run_report(run, "inversions_per_second",
		   (double)game.inversions / ((double)(game.phase.end - game.phase.begin) * 1e-12));
	rt_body_report(run, rt, &game.phase);
	rt_free(rt);
	free(group);
	return 0;
}

static const char *const params[] = { RT_PARAMS, "groups_per_cpu", "work_us", NULL };

extern const struct experiment pi;
const struct experiment pi = {
	.name = "pi",
	.variants = rt_variants_global,
	.params = params,
	.execute = execute,
};
