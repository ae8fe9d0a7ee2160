// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Implements reader-writer locks. A reader adds itself to a word, and leaves it by a
 * compare-and-swap, as in glibc. A reader that finds a writer leaves the word and waits until the
 * count of releases changes.
 *
 * A writer stores its identity where glibc does. As in glibc, a thread that would wait for itself
 * gets EDEADLK.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "sync.h"

#define WRITER 0x80000000u

/*
 * In a child of fork() glibc sees a free lock as free, because the extra words lie in its padding.
 */
struct rwlock {
	uint32_t state; /* readers, or WRITER */
	uint32_t unused[3];
	uint32_t releases, waiters;
	uint32_t writer; /* number of the writing thread, + 1 */
};

static_assert(offsetof(struct rwlock, releases) == offsetof(pthread_rwlock_t, __data.__pad3),
	      "glibc does not use it");
static_assert(offsetof(struct rwlock, writer) == offsetof(pthread_rwlock_t, __data.__cur_writer),
	      "a reader looks where glibc's does");

#define STATE_ADD(l) __atomic_fetch_add(&(l)->state, 1, __ATOMIC_RELAXED)
#define STATE_CAS(l, old, new)                                                      \
	__atomic_compare_exchange_n(&(l)->state, old, new, false, __ATOMIC_RELAXED, \
				    __ATOMIC_RELAXED)

static int wait_on(struct rwlock *l, uint32_t seen, uint64_t until, const char *in, const void *pc)
{
	int result;

	ADD(&l->waiters, 1);
	result = LOAD(&l->state) ? futex_wait(&l->releases, seen, until, UINT32_MAX, in, pc) : 0;
	ADD(&l->waiters, -1);
	return result;
}

static void released(struct rwlock *l)
{
	if (!LOAD(&l->waiters))
		return;
	ADD(&l->releases, 1);
	futex_wake(&l->releases, INT32_MAX, UINT32_MAX);
}

static void leave_reading(struct rwlock *l)
{
	uint32_t state = LOAD(&l->state);

	while (!STATE_CAS(l, &state, state - 1)) {
	}
	if (state == 1)
		released(l);
}

static bool is_mine(struct rwlock *l)
{
	return LOAD(&l->writer) == exact_self->number + 1;
}

static void now_mine(struct rwlock *l)
{
	__atomic_store_n(&l->writer, exact_self->number + 1, __ATOMIC_RELAXED);
}

static int read_lock(struct rwlock *l, uint64_t until, const void *pc)
{
	sched_work(10);
	if (is_mine(l))
		return EDEADLK;
	for (;;) {
		uint32_t seen;

		if (!(STATE_ADD(l) & WRITER)) {
			return 0;
		}
		seen = LOAD(&l->releases);
		leave_reading(l);
		if ((LOAD(&l->state) & WRITER) &&
		    wait_on(l, seen, until, "pthread_rwlock_rdlock", pc) == ETIMEDOUT)
			return ETIMEDOUT;
	}
}

static int write_lock(struct rwlock *l, uint64_t until, const void *pc)
{
	sched_work(10);
	if (is_mine(l))
		return EDEADLK;
	for (;;) {
		uint32_t none = 0, seen = LOAD(&l->releases);

		if (STATE_CAS(l, &none, WRITER)) {
			now_mine(l);
			return 0;
		}
		if (wait_on(l, seen, until, "pthread_rwlock_wrlock", pc) == ETIMEDOUT)
			return ETIMEDOUT;
	}
}

API int pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *attr)
{
	if (!exact_on())
		return REAL(pthread_rwlock_init)(l, attr);
	memset(l, 0, sizeof(*l));
	return 0;
}

API int pthread_rwlock_destroy(pthread_rwlock_t *l)
{
	return exact_on() ? 0 : REAL(pthread_rwlock_destroy)(l);
}

WAITS(pthread_rwlock_t, struct rwlock, read_lock, pthread_rwlock_rdlock, pthread_rwlock_timedrdlock,
      pthread_rwlock_clockrdlock)

API int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
	struct rwlock *l = (struct rwlock *)lock;
	uint32_t state;

	if (!exact_on())
		return REAL(pthread_rwlock_tryrdlock)(lock);
	sched_work(10);
	state = LOAD(&l->state);
	do {
		if (state & WRITER)
			return EBUSY;
	} while (!STATE_CAS(l, &state, state + 1));
	return 0;
}

WAITS(pthread_rwlock_t, struct rwlock, write_lock, pthread_rwlock_wrlock,
      pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock)

API int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
	struct rwlock *l = (struct rwlock *)lock;
	uint32_t none = 0;

	if (!exact_on())
		return REAL(pthread_rwlock_trywrlock)(lock);
	sched_work(10);
	if (!STATE_CAS(l, &none, WRITER))
		return EBUSY;
	now_mine(l);
	return 0;
}

API int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	struct rwlock *l = (struct rwlock *)lock;

	if (!exact_on())
		return REAL(pthread_rwlock_unlock)(lock);
	sched_work(10);
	if (LOAD(&l->state) & WRITER) {
		__atomic_store_n(&l->writer, 0, __ATOMIC_RELAXED);
		__atomic_fetch_and(&l->state, ~WRITER, __ATOMIC_RELAXED);
		released(l);
	} else {
		leave_reading(l);
	}
	return 0;
}
