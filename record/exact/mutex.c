// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Implements mutexes of all types, locked as in glibc: the lock word is 0 for free, 1 for locked, 2
 * for locked with waiters. All words of a mutex lie in one line or two. Priority inheritance has no
 * effect, because threads have no priorities here.
 *
 * When a thread ends, the next locker of its robust mutex gets the mutex as inconsistent: the
 * mutex's owner is DIED. If that locker unlocks the mutex while it is inconsistent, the owner
 * becomes GONE. A thread's robust mutexes form a list.
 */
#include <limits.h>

#include "sync.h"

struct mutex {
	int lock;
	unsigned int count;
	int owner;
	unsigned int users;
	int kind;
	int spins;
	struct mutex *before, *next; /* glibc's list; only @next is used here */
};

#define KIND(m)	  (LOAD(&(m)->kind) & 3)
#define ROBUST(m) (LOAD(&(m)->kind) & 16)
#define SPINS	  100
/* Owners, as glibc calls them. */
#define DIED INT_MAX
#define GONE (INT_MAX - 1)

/* The pointer to this mutex in this thread's list of robust mutexes; NULL if it is not there. */
static struct mutex **on_list(const struct mutex *m)
{
	struct mutex **at = &exact_self->robust;

	while (*at && *at != m)
		at = &(*at)->next;
	return *at ? at : NULL;
}

static bool is_mine(struct mutex *m)
{
	return ROBUST(m) ? on_list(m) != NULL : LOAD(&m->owner) == exact_self->tid;
}

static void give(struct mutex *m)
{
	if (SWAP(&m->lock, 0) > 1)
		futex_wake(&m->lock, 1, UINT32_MAX);
}

/* Take the mutex whose lock word this thread has set. Return: what the locking function returns. */
static int hold(struct mutex *m, int kind)
{
	int owner = 0;

	if (ROBUST(m)) {
		owner = LOAD(&m->owner);
		if (owner == GONE) {
			give(m);
			return ENOTRECOVERABLE;
		}
		m->next = exact_self->robust;
		exact_self->robust = m;
	}
	if (kind == PTHREAD_MUTEX_RECURSIVE)
		m->count = 1;
	m->users++;
	if (owner == DIED)
		return EOWNERDEAD;
	STORE(&m->owner, exact_self->tid);
	return 0;
}

static bool again(struct mutex *m, int kind, int *result)
{
	if ((kind != PTHREAD_MUTEX_RECURSIVE && kind != PTHREAD_MUTEX_ERRORCHECK) || !is_mine(m))
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
	return hold(m, kind);
}

int mutex_unlock(pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;
	int kind = KIND(m), owner = 0;
	struct mutex **at;

	sched_work(10);
	if ((ROBUST(m) || kind == PTHREAD_MUTEX_RECURSIVE || kind == PTHREAD_MUTEX_ERRORCHECK) &&
	    !is_mine(m))
		return EPERM;
	if (kind == PTHREAD_MUTEX_RECURSIVE && --m->count)
		return 0;
	if (ROBUST(m)) {
		at = on_list(m);
		*at = m->next;
		owner = LOAD(&m->owner) == DIED ? GONE : 0;
	}
	STORE(&m->owner, owner);
	m->users--;
	give(m);
	return 0;
}

void mutex_end(struct thread *t)
{
	struct mutex *m;

	while ((m = t->robust)) {
		t->robust = m->next;
		STORE(&m->owner, DIED);
		m->users--;
		give(m);
	}
}

WAITS(pthread_mutex_t, pthread_mutex_t, mutex_lock, pthread_mutex_lock, pthread_mutex_timedlock,
      pthread_mutex_clocklock)

API int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;
	int kind, result, none = 0;

	if (!exact_on())
		return REAL(pthread_mutex_trylock)(mutex);
	kind = KIND(m);
	sched_work(10);
	if (again(m, kind, &result))
		return result ? EBUSY : 0;
	if (!CAS(&m->lock, &none, 1))
		return EBUSY;
	return hold(m, kind);
}

API int pthread_mutex_consistent(pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;

	if (!exact_on())
		return REAL(pthread_mutex_consistent)(mutex);
	if (!ROBUST(m) || LOAD(&m->owner) != DIED || !is_mine(m))
		return EINVAL;
	STORE(&m->owner, exact_self->tid);
	return 0;
}

API int pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (!exact_on())
		return REAL(pthread_mutex_unlock)(m);
	return mutex_unlock(m);
}

API int pthread_mutex_destroy(pthread_mutex_t *m)
{
	if (!exact_on())
		return REAL(pthread_mutex_destroy)(m);
	return LOAD(&((struct mutex *)m)->lock) ? EBUSY : 0;
}
