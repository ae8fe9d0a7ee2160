// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Linux's queued spinlock. One word says whether the lock is taken, whether one CPU waits for it
 * directly (pending), and which CPU is the last of a queue. A CPU in the queue spins on its own
 * line. It stops when the CPU before it, which has taken the lock, makes it the queue's head.
 *
 * Why only one CPU holds the lock: the locked byte changes from 0 to 1 in three ways. A
 * compare-and-swap changes the whole word from 0. Or the pending CPU sets the byte; there is only
 * one. Or the head of the queue sets it; there is only one, and it waits until no CPU is pending.
 * No CPU becomes pending while others queue: its fetch_or sees the queue's tail, and the CPU then
 * undoes the fetch_or.
 *
 * The queue's tail is a thread number + 1 in 16 bits; Linux's is a CPU and one of four contexts.
 */
#include <stdlib.h>

#include "primitive.h"

#define LOCKED	     1u
#define LOCKED_MASK  0xffu
#define PENDING	     (1u << 8)
#define PENDING_MASK 0xff00u
#define TAIL_SHIFT   16

struct queued_spinlock {
	union {
		u32 word;
		struct {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
			u8 locked, pending;
			u16 tail;
#else
			u16 tail;
			u8 pending, locked;
#endif
		};
		struct {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
			u16 locked_pending, unused;
#else
			u16 unused, locked_pending;
#endif
		};
	};
} port_cacheline_aligned;

/* A place in the queue, on its thread's own line. */
struct queue_node {
	struct queue_node *next;
	u32 granted;
} port_cacheline_aligned;

struct spinlock {
	struct queued_spinlock *lock;
	u32 nr_threads;
	struct queue_node *node[];
};

static void destroy(void *state)
{
	struct spinlock *s = state;

	if (!s)
		return;
	for (u32 i = 0; i < s->nr_threads; i++)
		port_free(s->node[i], sizeof(*s->node[i]));
	port_free(s->lock, sizeof(*s->lock));
	free(s);
}

static void *create(const struct primitive_place *place)
{
	u32 n = place->nr_threads;
	struct spinlock *s = calloc(1, sizeof(*s) + n * sizeof(s->node[0]));
	bool all;

	if (!s || n > UINT16_MAX) {
		free(s);
		return NULL;
	}
	s->nr_threads = n;
	s->lock = primitive_alloc(sizeof(*s->lock), place->home, "spinlock",
				  "struct queued_spinlock");
	all = s->lock;
	for (u32 i = 0; i < n; i++) {
		s->node[i] = primitive_alloc(sizeof(*s->node[i]), place->node[i], "queue node",
					     "struct queue_node");
		all = all && s->node[i];
	}
	if (!all) {
		destroy(s);
		return NULL;
	}
	return s;
}

static bool try_from_0(struct queued_spinlock *lock)
{
	u32 old = 0;

	return __atomic_compare_exchange_n(&lock->word, &old, LOCKED, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* Wait as the only waiter behind the owner. Return: false if others wait: join the queue. */
static bool lock_as_pending(struct queued_spinlock *lock)
{
	u32 word = READ_ONCE(lock->word);

	if (word == PENDING) /* the pending CPU takes the lock at this moment: read once more */
		word = READ_ONCE(lock->word);
	if (word & ~LOCKED_MASK)
		return false;
	word = __atomic_fetch_or(&lock->word, PENDING, __ATOMIC_ACQUIRE);
	if (word & ~LOCKED_MASK) {
		if (!(word & PENDING_MASK))
			WRITE_ONCE(lock->pending, 0);
		return false;
	}
	if (word & LOCKED_MASK)
		while (smp_load_acquire(&lock->locked))
			cpu_relax();
	WRITE_ONCE(lock->locked_pending, LOCKED);
	return true;
}

static void lock_in_queue(const struct spinlock *s, u32 me)
{
	struct queued_spinlock *lock = s->lock;
	struct queue_node *node = s->node[me], *next;
	u32 word, tail = me + 1, before;

	WRITE_ONCE(node->granted, 0);
	WRITE_ONCE(node->next, NULL);
	if (!READ_ONCE(lock->word) && try_from_0(lock))
		return;
	/*
	 * Pairs with the address dependency of the previous CPU's load of next, before its store to
	 * granted. Orders the node's initialisation before the exchange and before the store to
	 * next. Otherwise the initialisation could overwrite that grant.
	 */
	smp_wmb();
	before = __atomic_exchange_n(&lock->tail, (u16)tail, __ATOMIC_RELAXED);
	if (before) {
		WRITE_ONCE(s->node[before - 1]->next, node);
		while (!smp_load_acquire(&node->granted))
			cpu_relax();
	}
	while ((word = smp_load_acquire(&lock->word)) & (LOCKED_MASK | PENDING_MASK))
		cpu_relax();
	if (word >> TAIL_SHIFT == tail &&
	    __atomic_compare_exchange_n(&lock->word, &word, LOCKED, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		return;
	WRITE_ONCE(lock->locked, LOCKED);
	while (!(next = READ_ONCE(node->next)))
		cpu_relax();
	smp_store_release(&next->granted, 1);
}

static void ops(void *state, const struct primitive_thread *thread, u64 n)
{
	const struct spinlock *s = state;

	while (n--) {
		if (!try_from_0(s->lock) && !lock_as_pending(s->lock))
			lock_in_queue(s, thread->number);
		primitive_hold(thread);
		smp_store_release(&s->lock->locked, 0);
	}
}

static bool consistent(const void *state, u64 n)
{
	const struct spinlock *s = state;

	return !READ_ONCE(s->lock->word);
}

PRIMITIVE(spinlock, "spinlock", "Linux's queued spinlock", true, create, ops, consistent, destroy);
