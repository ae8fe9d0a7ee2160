// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Two small spin locks whose waiters all spin on the lock's line, without a pause.
 *
 * spinlock-hot: wait until the word looks free, then exchange it. The first thread to do so has the
 * lock. ticket-lock: take a number, and wait until it is served. Threads get the lock in order.
 *
 * Each lock guards a counter, which reveals a failure of mutual exclusion. The counter is on
 * another line, as linkers place the words of travisdowns/concurrency-hierarchy-bench: the holder's
 * work does not touch the line that waiters read.
 */
#include "primitive.h"

struct apart_lock {
	u64 word port_cacheline_aligned; /* spinlock-hot: taken; ticket-lock: the next number */
	u64 serving;			 /* ticket-lock */
	u64 count port_cacheline_aligned;
};

PRIMITIVE_OBJECT(apart_lock, "lock")

static inline void inside(u64 *count, const struct primitive_thread *thread)
{
	WRITE_ONCE(*count, READ_ONCE(*count) + 1);
	primitive_hold(thread);
}

static void hot(void *state, const struct primitive_thread *thread, u64 n)
{
	struct apart_lock *lock = state;

	while (n--) {
		do
			while (READ_ONCE(lock->word))
				port_compiler_barrier();
		while (__atomic_exchange_n(&lock->word, 1, __ATOMIC_ACQUIRE));
		inside(&lock->count, thread);
		smp_store_release(&lock->word, 0);
	}
}

static void ticket(void *state, const struct primitive_thread *thread, u64 n)
{
	struct apart_lock *lock = state;

	while (n--) {
		u64 mine = __atomic_fetch_add(&lock->word, 1, __ATOMIC_RELAXED);

		while (smp_load_acquire(&lock->serving) != mine)
			port_compiler_barrier();
		inside(&lock->count, thread);
		smp_store_release(&lock->serving, READ_ONCE(lock->serving) + 1);
	}
}

static bool hot_counted(const void *state, u64 ops)
{
	const struct apart_lock *lock = state;

	return READ_ONCE(lock->count) == ops && !READ_ONCE(lock->word);
}

static bool ticket_counted(const void *state, u64 ops)
{
	const struct apart_lock *lock = state;

	return READ_ONCE(lock->count) == ops && READ_ONCE(lock->serving) == ops;
}

PRIMITIVE(spinlock_hot_apart, "spinlock-hot-apart",
	  "spin lock that all waiters look at, no pause; its data on another line", true, create,
	  hot, hot_counted, destroy);

PRIMITIVE(ticket_lock_apart, "ticket-lock-apart", "ticket lock, no pause; its data on another line",
	  true, create, ticket, ticket_counted, destroy);
