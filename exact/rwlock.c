// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Reader-writer locks. Readers add themselves to a word, and leave it by a compare-and-swap, as in
 * glibc. A reader that finds a writer takes itself out and waits for the count of releases.
 */
#include <string.h>

#include "sync.h"

#define WRITER 0x80000000u

struct rwlock {
	uint32_t state; /* readers, or WRITER */
	uint32_t releases, waiters;
};

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

	while (!CAS(&l->state, &state, state - 1)) {
	}
	if (state == 1)
		released(l);
}

static int read_lock(struct rwlock *l, uint64_t until, const void *pc)
{
	sched_work(10);
	for (;;) {
		uint32_t seen;

		if (!(ADD(&l->state, 1) & WRITER))
			return 0;
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
	for (;;) {
		uint32_t none = 0, seen = LOAD(&l->releases);

		if (CAS(&l->state, &none, WRITER))
			return 0;
		if (wait_on(l, seen, until, "pthread_rwlock_wrlock", pc) == ETIMEDOUT)
			return ETIMEDOUT;
	}
}

API int pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *attr)
{
	if (!exact_on())
		return REAL(int, pthread_rwlock_init,
			    (pthread_rwlock_t *, const pthread_rwlockattr_t *))(l, attr);
	memset(l, 0, sizeof(*l));
	return 0;
}

API int pthread_rwlock_destroy(pthread_rwlock_t *l)
{
	return exact_on() ? 0 : REAL(int, pthread_rwlock_destroy, (pthread_rwlock_t *))(l);
}

API int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	if (!exact_on())
		return REAL(int, pthread_rwlock_rdlock, (pthread_rwlock_t *))(l);
	return read_lock((struct rwlock *)l, EXACT_EVER, HERE);
}

API int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until)
{
	if (!exact_on())
		return REAL(int, pthread_rwlock_timedrdlock,
			    (pthread_rwlock_t *, const struct timespec *))(l, until);
	return read_lock((struct rwlock *)l, clock_until(CLOCK_REALTIME, until), HERE);
}

API int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
	struct rwlock *l = (struct rwlock *)lock;
	uint32_t state;

	if (!exact_on())
		return REAL(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t *))(lock);
	sched_work(10);
	state = LOAD(&l->state);
	do {
		if (state & WRITER)
			return EBUSY;
	} while (!CAS(&l->state, &state, state + 1));
	return 0;
}

API int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	if (!exact_on())
		return REAL(int, pthread_rwlock_wrlock, (pthread_rwlock_t *))(l);
	return write_lock((struct rwlock *)l, EXACT_EVER, HERE);
}

API int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until)
{
	if (!exact_on())
		return REAL(int, pthread_rwlock_timedwrlock,
			    (pthread_rwlock_t *, const struct timespec *))(l, until);
	return write_lock((struct rwlock *)l, clock_until(CLOCK_REALTIME, until), HERE);
}

API int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
	struct rwlock *l = (struct rwlock *)lock;
	uint32_t none = 0;

	if (!exact_on())
		return REAL(int, pthread_rwlock_trywrlock, (pthread_rwlock_t *))(lock);
	sched_work(10);
	return CAS(&l->state, &none, WRITER) ? 0 : EBUSY;
}

API int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	struct rwlock *l = (struct rwlock *)lock;

	if (!exact_on())
		return REAL(int, pthread_rwlock_unlock, (pthread_rwlock_t *))(lock);
	sched_work(10);
	if (LOAD(&l->state) & WRITER) {
		__atomic_fetch_and(&l->state, ~WRITER, __ATOMIC_RELEASE);
		released(l);
	} else {
		leave_reading(l);
	}
	return 0;
}
