// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why no wake-up is lost: a waiter compares the word, queues itself and stores its sleeping state
 * under the bucket's lock. A waker changes the word first and then takes the lock. Either the
 * waiter sees the new word, or the waker sees the waiter. The waker removes waiters under the lock
 * and wakes them afterwards, so it holds the lock only for a few accesses.
 */
#include "arena.h"
#include "rq.h"

#define BATCH 16

struct rt_futex {
	u32 lock;
	struct rt_list waiters;
};

struct rt_futex *rt_futex_new(int node)
{
	struct rt_futex *f = arena_alloc(sizeof(*f), node, "futex bucket", "struct rt_futex");

	rt_list_init(&f->waiters);
	return f;
}

bool rt_futex_wait(struct rt_cpu *me, struct rt_futex *f, const u32 *word, u32 expected)
{
	struct rt_task *p = me->curr;

	rt_syscall_begin(me);
	sim_spend(me->rt->costs.futex);
	rt_lock(&f->lock);
	if (READ_ONCE(*word) != expected) {
		rt_unlock(&f->lock);
		rt_syscall_end(me);
		return false;
	}
	rt_list_add_before(&p->wait_node, &f->waiters);
	WRITE_ONCE(p->state, RT_ASLEEP);
	rt_unlock(&f->lock);
	p->thread->blocked = true;
	return true;
}

u32 rt_futex_wake(struct rt_cpu *me, struct rt_futex *f, u32 n)
{
	struct rt_task *p[BATCH];
	u32 woken = 0, batch;

	rt_syscall_begin(me);
	sim_spend(me->rt->costs.futex);
	do {
		rt_lock(&f->lock);
		for (batch = 0; batch < BATCH && woken < n && !rt_list_empty(&f->waiters);
		     batch++) {
			p[batch] = rt_list_item(f->waiters.next, struct rt_task, wait_node);
			rt_list_del(&p[batch]->wait_node);
			woken++;
		}
		rt_unlock(&f->lock);
		for (u32 i = 0; i < batch; i++)
			rt_wake(me, p[i]);
	} while (batch == BATCH);
	rt_syscall_end(me);
	return woken;
}
