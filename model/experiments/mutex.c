// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * stress-ng --mutex: every instance has a few threads, which contend for the instance's mutex. A
 * thread raises itself to the highest FIFO priority (pthread_setschedparam()), locks, lowers itself
 * to a random priority, and unlocks: one bogo operation. Threads are not pinned.
 *
 * The mutex is glibc's: 0 free, 1 locked, 2 locked and perhaps with waiters. A thread calls the
 * kernel only under contention.
 */
#include <stdlib.h>

#include "arena.h"
#include "machine.h"
#include "rt_body.h"

#define HIGHEST 99

struct mutex {
	u32 word;
	struct rt_futex *futex;
};

struct fight {
	struct rt_phase phase;
	u64 work, ops;
};

struct fighter {
	struct fight *fight;
	struct mutex *mutex; /* simulated memory */
	enum { RAISE, LOCK, LOCK_AGAIN, HOLD, FALL } at;
};

static void set_own_level(struct rt_cpu *me, struct rt_thread *t, int level)
{
	rt_syscall_begin(me);
	rt_set_level(me, t->task, level);
	rt_syscall_end(me);
}

static void fall_and_unlock(struct rt_cpu *me, struct rt_thread *t, struct fighter *f)
{
	set_own_level(me, t, 1 + (int)(sim_random() % (HIGHEST - 1)));
	if (__atomic_exchange_n(&f->mutex->word, 0, __ATOMIC_SEQ_CST) == 2)
		rt_futex_wake(me, f->mutex->futex, 1);
	if (rt_body_phase(me, &f->fight->phase))
		f->fight->ops++;
}

static void fight(struct rt_cpu *me, struct rt_thread *t)
{
	struct fighter *f = t->arg;
	u32 free = 0;

	switch (f->at) {
	case RAISE:
		set_own_level(me, t, HIGHEST);
		f->at = LOCK;
		t->left = f->fight->work;
		return;
	case LOCK:
		if (__atomic_compare_exchange_n(&f->mutex->word, &free, 1, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			break;
		f->at = LOCK_AGAIN;
		/* fall through */
	case LOCK_AGAIN:
		while (__atomic_exchange_n(&f->mutex->word, 2, __ATOMIC_SEQ_CST) != 0)
			if (rt_futex_wait(me, f->mutex->futex, &f->mutex->word, 2))
				return;
		break;
	case HOLD:
		f->at = FALL;
		fall_and_unlock(me, t, f);
		t->left = f->fight->work;
		return;
	case FALL:
		f->at = RAISE;
		t->left = 1;
		return;
	}
	f->at = HOLD;
	t->left = f->fight->work;
}

static int execute(struct run *run)
{
	u32 n = run->model->nr_cpus, words = (run->machine->topo.nr_cpus + 63) / 64;
	u32 each = (u32)run_param(run, "threads_per_mutex");
	struct fight all = { .phase = rt_body_phases(run), .work = rt_body_ps(run, "work_us") };
	struct fighter *fighter;
	unsigned long *mask;
	struct mutex *mutex = NULL;
	struct rt *rt;

	if (!each || !all.work)
		return run_fail(run, "threads_per_mutex and work_us must be more than 0");
	rt = rt_body_create(run);
	if (!rt)
		return -1;
	fighter = calloc(n, sizeof(*fighter));
	mask = calloc(words, sizeof(*mask));
	if (!fighter || !mask)
		abort();
	for (u32 i = 0; i < n; i++)
		mask[run->model->cpu[i].number / 64] |= 1ul << (run->model->cpu[i].number % 64);
	for (u32 i = 0; i < n; i++) {
		u32 cpu = run->model->cpu[i].number;
		int node = run->machine->topo.cpu[cpu].node;

		if (i % each == 0) {
			mutex = arena_alloc(sizeof(*mutex), node, "mutex", "struct mutex");
			mutex->futex = rt_futex_new(node);
		}
		fighter[i] = (struct fighter){ .fight = &all, .mutex = mutex };
		rt_thread_new(rt, cpu, 1 + (int)(i % HIGHEST), mask, fight, &fighter[i]);
	}
	run->simulated = rt_run(rt);
	run_report(run, "ops_per_second",
		   (double)all.ops / ((double)(all.phase.end - all.phase.begin) * 1e-12));
	rt_body_report(run, rt, &all.phase);
	rt_free(rt);
	free(fighter);
	free(mask);
	return 0;
}

static const char *const params[] = { RT_PARAMS, "threads_per_mutex", "work_us", NULL };

extern const struct experiment mutex_rt;
const struct experiment mutex_rt = {
	.name = "mutex",
	.variants = rt_variants_global,
	.params = params,
	.execute = execute,
};
