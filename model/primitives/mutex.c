// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * glibc's default pthread_mutex_t, whose waiters sleep.
 *
 * The word is 0: free, 1: taken, or 2: taken, and a thread may sleep. A thread that does not get
 * the lock at once exchanges the word for 2, and sleeps until the exchange finds 0. An unlock that
 * finds 2 wakes one sleeper. The unlock does not hand the lock over: any thread may take it first.
 *
 * Why no sleeper is forgotten: a thread sleeps only while the word is 2, and a thread that has
 * slept sets 2 when it takes the lock. So its unlock wakes the next sleeper.
 *
 * The owner and the number of users are beside the word, as in glibc. The counter is on another
 * line, as linkers place it in travisdowns/concurrency-hierarchy-bench.
 *
 * glibc also loads the number of users to add one, and unlock() loads the kind again. Nothing
 * depends on these loads, so an out-of-order core does them while it waits for the counter. The
 * simulated machine does one load after the other. So this code omits them: only the owner changes
 * the number of users of this kind of mutex, which is 0 or 1.
 */
#include "primitive.h"

struct mutex {
	u32 word;
	u32 owner, users;
	u32 kind; /* 0: the default kind */
};

struct apart_mutex {
	struct mutex mutex port_cacheline_aligned;
	u64 count port_cacheline_aligned;
};

static void lock(struct mutex *m, const struct primitive_thread *thread)
{
	u32 seen = 0;

	PORT_WARN_ON(READ_ONCE(m->kind));
	if (!__atomic_compare_exchange_n(&m->word, &seen, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED)) {
		if (READ_ONCE(m->word) == 2)
			primitive_sleep(&m->word, 2, thread);
		while (__atomic_exchange_n(&m->word, 2, __ATOMIC_ACQUIRE))
			primitive_sleep(&m->word, 2, thread);
	}
	WRITE_ONCE(m->owner, thread->number + 1);
	WRITE_ONCE(m->users, 1);
}

static void unlock(struct mutex *m, const struct primitive_thread *thread)
{
	WRITE_ONCE(m->owner, 0);
	WRITE_ONCE(m->users, 0);
	if (__atomic_exchange_n(&m->word, 0, __ATOMIC_RELEASE) == 2)
		primitive_wake(&m->word, thread);
}

PRIMITIVE_OBJECT(apart_mutex, "mutex")

static void ops(void *state, const struct primitive_thread *thread, u64 n)
{
	struct apart_mutex *s = state;

	while (n--) {
		lock(&s->mutex, thread);
		WRITE_ONCE(s->count, READ_ONCE(s->count) + 1);
		primitive_hold(thread);
		unlock(&s->mutex, thread);
	}
}

static bool counted(const void *state, u64 n)
{
	const struct apart_mutex *s = state;

	return READ_ONCE(s->count) == n && !READ_ONCE(s->mutex.word) && !READ_ONCE(s->mutex.users);
}

const struct primitive primitive_mutex_apart = {
	.name = "mutex-apart",
	.what = "glibc's mutex, waiters sleep; its data on another line",
	.holds = true,
	.sleeps = true,
	.create = create,
	.ops = ops,
	.consistent = counted,
	.destroy = destroy,
};
