// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Mutexes of all types, as glibc locks them: the lock word is 0, 1 locked, or 2 locked with
 * waiters. All words of a mutex lie in one line or two. A robust mutex, and one with priority
 * inheritance, is a plain one here: no thread dies with a lock, and CPUs have no priorities.
 */
#include "sync.h"

struct mutex {
	int lock;
	unsigned int count;
	int owner;
	unsigned int users;
	int kind;
};

#define KIND(m) (LOAD(&(m)->kind) & 3)
#define SPINS	100

static void hold(struct mutex *m)
{
	STORE(&m->owner, exact_self->tid);
	m->users++;
}

static bool again(struct mutex *m, int kind, int *result)
{
	if ((kind != PTHREAD_MUTEX_RECURSIVE && kind != PTHREAD_MUTEX_ERRORCHECK) ||
	    LOAD(&m->owner) != exact_self->tid)
		return false;
	*result = EDEADLK;
	if (kind == PTHREAD_MUTEX_RECURSIVE) {
		m->count++;
		*result = 0;
	}
	return true;
}

int mutex_lock(pthread_mutex_t *mutex, uint64_t until, const void *pc)
{
	struct mutex *m = (struct mutex *)mutex;
	int kind = KIND(m), result, none = 0;

	sched_work(10);
	if (again(m, kind, &result))
		return result;
	if (kind == PTHREAD_MUTEX_ADAPTIVE_NP)
		for (int i = 0; i < SPINS && LOAD(&m->lock); i++)
			sched_cycles(EXACT_PAUSE);
	if (!CAS(&m->lock, &none, 1)) {
		if (none == 2 && futex_wait(&m->lock, 2, until, UINT32_MAX, "pthread_mutex_lock",
					    pc) == ETIMEDOUT)
			return ETIMEDOUT;
		while (SWAP(&m->lock, 2) != 0)
			if (futex_wait(&m->lock, 2, until, UINT32_MAX, "pthread_mutex_lock", pc) ==
			    ETIMEDOUT)
				return ETIMEDOUT;
	}
	if (kind == PTHREAD_MUTEX_RECURSIVE)
		m->count = 1;
	hold(m);
	return 0;
}

int mutex_unlock(pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;
	int kind = KIND(m);

	sched_work(10);
	if (kind == PTHREAD_MUTEX_RECURSIVE || kind == PTHREAD_MUTEX_ERRORCHECK) {
		if (LOAD(&m->owner) != exact_self->tid)
			return EPERM;
		if (kind == PTHREAD_MUTEX_RECURSIVE && --m->count)
			return 0;
	}
	STORE(&m->owner, 0);
	m->users--;
	if (SWAP(&m->lock, 0) > 1)
		futex_wake(&m->lock, 1, UINT32_MAX);
	return 0;
}

API int pthread_mutex_lock(pthread_mutex_t *m)
{
	if (!exact_on())
		return REAL(int, pthread_mutex_lock, (pthread_mutex_t *))(m);
	return mutex_lock(m, EXACT_EVER, HERE);
}

API int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	if (!exact_on())
		return REAL(int, pthread_mutex_timedlock,
			    (pthread_mutex_t *, const struct timespec *))(m, until);
	return mutex_lock(m, clock_until(CLOCK_REALTIME, until), HERE);
}

API int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
	if (!exact_on())
		return REAL(int, pthread_mutex_clocklock,
			    (pthread_mutex_t *, clockid_t, const struct timespec *))(m, clock,
										     until);
	return mutex_lock(m, clock_until(clock, until), HERE);
}

API int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;
	int kind, result, none = 0;

	if (!exact_on())
		return REAL(int, pthread_mutex_trylock, (pthread_mutex_t *))(mutex);
	kind = KIND(m);
	sched_work(10);
	if (again(m, kind, &result))
		return result ? EBUSY : 0;
	if (!CAS(&m->lock, &none, 1))
		return EBUSY;
	if (kind == PTHREAD_MUTEX_RECURSIVE)
		m->count = 1;
	hold(m);
	return 0;
}

API int pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (!exact_on())
		return REAL(int, pthread_mutex_unlock, (pthread_mutex_t *))(m);
	return mutex_unlock(m);
}

API int pthread_mutex_destroy(pthread_mutex_t *m)
{
	if (!exact_on())
		return REAL(int, pthread_mutex_destroy, (pthread_mutex_t *))(m);
	return LOAD(&((struct mutex *)m)->lock) ? EBUSY : 0;
}
