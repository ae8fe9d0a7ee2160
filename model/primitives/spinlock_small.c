// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Two small spin locks whose waiters all spin on the lock's line, without a pause.
 *
 * spinlock-hot: wait until the word looks free, then exchange it. The first thread to do so has the
 * lock. ticket-lock: take a number, and wait until it is served. Threads get the lock in order.
 *
 * Each lock guards a counter, which reveals a failure of mutual exclusion. The counter is on the
 * lock's line, or on another one, as linkers place the words of
 * travisdowns/concurrency-hierarchy-bench. On another line, the holder's work does not touch the
 * line that waiters read. In ticket-lock-padded the two words of the lock have a line each, too.
 */
#include "primitive.h"

struct small_lock {
	u64 word;    /* spinlock-hot: taken; ticket-lock: the next number */
	u64 serving; /* ticket-lock */
	u64 count;
} port_cacheline_aligned;

struct apart_lock {
	u64 word port_cacheline_aligned;
	u64 serving;
	u64 count port_cacheline_aligned;
};

struct padded_lock {
	u64 word port_cacheline_aligned;
	u64 serving port_cacheline_aligned;
	u64 count port_cacheline_aligned;
};

static void *create(const struct primitive_place *place)
{
	return primitive_alloc(sizeof(struct small_lock), place->home, "lock", "struct small_lock");
}

static void destroy(void *state)
{
	port_free(state, sizeof(struct small_lock));
}

static void *create_apart(const struct primitive_place *place)
{
	return primitive_alloc(sizeof(struct apart_lock), place->home, "lock", "struct apart_lock");
}

static void destroy_apart(void *state)
{
	port_free(state, sizeof(struct apart_lock));
}

static void *create_padded(const struct primitive_place *place)
{
	return primitive_alloc(sizeof(struct padded_lock), place->home, "lock",
			       "struct padded_lock");
}

static void destroy_padded(void *state)
{
	port_free(state, sizeof(struct padded_lock));
}

static inline void inside(u64 *count, const struct primitive_thread *thread)
{
	WRITE_ONCE(*count, READ_ONCE(*count) + 1);
	primitive_hold(thread);
}

static inline void hot_ops(u64 *word, u64 *count, const struct primitive_thread *thread, u64 n)
{
	while (n--) {
		do
			while (READ_ONCE(*word))
				port_compiler_barrier();
		while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE));
		inside(count, thread);
		smp_store_release(word, 0);
	}
}

static inline void ticket_ops(u64 *next, u64 *serving, u64 *count,
			      const struct primitive_thread *thread, u64 n)
{
	while (n--) {
		u64 mine = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);

		while (smp_load_acquire(serving) != mine)
			port_compiler_barrier();
		inside(count, thread);
		smp_store_release(serving, READ_ONCE(*serving) + 1);
	}
}

static void hot(void *state, const struct primitive_thread *thread, u64 n)
{
	struct small_lock *lock = state;

	hot_ops(&lock->word, &lock->count, thread, n);
}

static void hot_apart(void *state, const struct primitive_thread *thread, u64 n)
{
	struct apart_lock *lock = state;

	hot_ops(&lock->word, &lock->count, thread, n);
}

static void ticket(void *state, const struct primitive_thread *thread, u64 n)
{
	struct small_lock *lock = state;

	ticket_ops(&lock->word, &lock->serving, &lock->count, thread, n);
}

static void ticket_apart(void *state, const struct primitive_thread *thread, u64 n)
{
	struct apart_lock *lock = state;

	ticket_ops(&lock->word, &lock->serving, &lock->count, thread, n);
}

static void ticket_padded(void *state, const struct primitive_thread *thread, u64 n)
{
	struct padded_lock *lock = state;

	ticket_ops(&lock->word, &lock->serving, &lock->count, thread, n);
}

static bool hot_counted(const void *state, u64 ops)
{
	const struct small_lock *lock = state;

	return READ_ONCE(lock->count) == ops && !READ_ONCE(lock->word);
}

static bool hot_apart_counted(const void *state, u64 ops)
{
	const struct apart_lock *lock = state;

	return READ_ONCE(lock->count) == ops && !READ_ONCE(lock->word);
}

static bool ticket_counted(const void *state, u64 ops)
{
	const struct small_lock *lock = state;

	return READ_ONCE(lock->count) == ops && READ_ONCE(lock->serving) == ops;
}

static bool ticket_apart_counted(const void *state, u64 ops)
{
	const struct apart_lock *lock = state;

	return READ_ONCE(lock->count) == ops && READ_ONCE(lock->serving) == ops;
}

static bool ticket_padded_counted(const void *state, u64 ops)
{
	const struct padded_lock *lock = state;

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

const struct primitive primitive_spinlock_hot_apart = {
	.name = "spinlock-hot-apart",
	.what = "the same, with the guarded data on another line",
	.holds = true,
	.create = create_apart,
	.ops = hot_apart,
	.consistent = hot_apart_counted,
	.destroy = destroy_apart,
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

const struct primitive primitive_ticket_lock_apart = {
	.name = "ticket-lock-apart",
	.what = "the same, with the guarded data on another line",
	.holds = true,
	.create = create_apart,
	.ops = ticket_apart,
	.consistent = ticket_apart_counted,
	.destroy = destroy_apart,
};

const struct primitive primitive_ticket_lock_padded = {
	.name = "ticket-lock-padded",
	.what = "the same, with its two words on separate lines",
	.holds = true,
	.create = create_padded,
	.ops = ticket_padded,
	.consistent = ticket_padded_counted,
	.destroy = destroy_padded,
};
