// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Two small spin locks whose waiters all spin on the lock's line, without a pause.
 *
 * spinlock-hot: wait until the word looks free, then exchange it. Whoever is first has the lock.
 * ticket-lock: take a number, and wait until it is served. The lock goes round in order.
 *
 * Each guards a counter on the same line, so that a lost exclusion shows.
 */
#include "primitive.h"

struct small_lock {
	u64 word;    /* spinlock-hot: taken; ticket-lock: the next number */
	u64 serving; /* ticket-lock */
	u64 count;
} port_cacheline_aligned;

static void *create(const struct primitive_place *place)
{
	return primitive_alloc(sizeof(struct small_lock), place->home, "lock", "struct small_lock");
}

static void destroy(void *state)
{
	port_free(state, sizeof(struct small_lock));
}

static void inside(struct small_lock *lock, const struct primitive_thread *thread)
{
	WRITE_ONCE(lock->count, READ_ONCE(lock->count) + 1);
	primitive_hold(thread);
}

static void hot(void *state, const struct primitive_thread *thread, u64 n)
{
	struct small_lock *lock = state;

	while (n--) {
		do
			while (READ_ONCE(lock->word))
				port_compiler_barrier();
		while (__atomic_exchange_n(&lock->word, 1, __ATOMIC_ACQUIRE));
		inside(lock, thread);
		smp_store_release(&lock->word, 0);
	}
}

static void ticket(void *state, const struct primitive_thread *thread, u64 n)
{
	struct small_lock *lock = state;

	while (n--) {
		u64 mine = __atomic_fetch_add(&lock->word, 1, __ATOMIC_RELAXED);

		while (smp_load_acquire(&lock->serving) != mine)
			port_compiler_barrier();
		inside(lock, thread);
		smp_store_release(&lock->serving, mine + 1);
	}
}

static bool hot_counted(const void *state, u64 ops)
{
	const struct small_lock *lock = state;

	return READ_ONCE(lock->count) == ops && !READ_ONCE(lock->word);
}

static bool ticket_counted(const void *state, u64 ops)
{
	const struct small_lock *lock = state;

	return READ_ONCE(lock->count) == ops && READ_ONCE(lock->serving) == ops;
}

const struct primitive primitive_spinlock_hot = {
	.name = "spinlock-hot",
	.what = "spin lock that all waiters look at, no pause",
	.holds = true,
	.create = create,
	.ops = hot,
	.consistent = hot_counted,
	.destroy = destroy,
};

const struct primitive primitive_ticket_lock = {
	.name = "ticket-lock",
	.what = "ticket lock, no pause",
	.holds = true,
	.create = create,
	.ops = ticket,
	.consistent = ticket_counted,
	.destroy = destroy,
};
