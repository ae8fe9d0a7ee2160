// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Maps C11 threads to POSIX threads, because glibc's C11 functions call internal ones. */
#include <stdlib.h>
#include <threads.h>

#include "sync.h"

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "the types are those of glibc");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "the types are those of glibc");

struct start {
	thrd_start_t function;
	void *arg;
};

static int thrd_of(int error)
{
	switch (error) {
	case 0:
		return thrd_success;
	case EBUSY:
		return thrd_busy;
	case ENOMEM:
	case EAGAIN:
		return thrd_nomem;
	case ETIMEDOUT:
		return thrd_timedout;
	default:
		return thrd_error;
	}
}

static void *run(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	return (void *)(intptr_t)s.function(s.arg);
}

API int thrd_create(thrd_t *made, thrd_start_t function, void *arg)
{
	struct start *s = malloc(sizeof(*s));
	int error;

	if (!s)
		return thrd_nomem;
	*s = (struct start){ function, arg };
	error = pthread_create(made, NULL, run, s);
	if (error)
		free(s);
	return thrd_of(error);
}

API int thrd_join(thrd_t thread, int *result)
{
	void *value = NULL;
	int error = pthread_join(thread, &value);

	if (!error && result)
		*result = (int)(intptr_t)value;
	return thrd_of(error);
}

API _Noreturn void thrd_exit(int result)
{
	pthread_exit((void *)(intptr_t)result);
}

API void thrd_yield(void)
{
	sched_yield();
}

API int thrd_sleep(const struct timespec *ts, struct timespec *left)
{
	return nanosleep(ts, left) ? -1 : 0;
}

API void cnd_destroy(cnd_t *c)
{
	pthread_cond_destroy((pthread_cond_t *)c);
}

API void call_once(once_flag *flag, void (*routine)(void))
{
	pthread_once((pthread_once_t *)flag, routine);
}

API void tss_delete(tss_t key)
{
	pthread_key_delete(key);
}

API void *tss_get(tss_t key)
{
	return pthread_getspecific(key);
}

#define MUTEX(m) ((pthread_mutex_t *)(m))
#define COND(c)	 ((pthread_cond_t *)(c))

/* A function that differs from the one of POSIX in its errors only. */
#define LIKE_POSIX(name, call, ...)   \
	API int name(__VA_ARGS__)     \
	{                             \
		return thrd_of(call); \
	}

LIKE_POSIX(thrd_detach, pthread_detach(thread), thrd_t thread)
LIKE_POSIX(mtx_lock, pthread_mutex_lock(MUTEX(m)), mtx_t *m)
LIKE_POSIX(mtx_trylock, pthread_mutex_trylock(MUTEX(m)), mtx_t *m)
LIKE_POSIX(mtx_timedlock, pthread_mutex_timedlock(MUTEX(m), until), mtx_t *restrict m,
	   const struct timespec *restrict until)
LIKE_POSIX(mtx_unlock, pthread_mutex_unlock(MUTEX(m)), mtx_t *m)
LIKE_POSIX(cnd_init, pthread_cond_init(COND(c), NULL), cnd_t *c)
LIKE_POSIX(cnd_signal, pthread_cond_signal(COND(c)), cnd_t *c)
LIKE_POSIX(cnd_broadcast, pthread_cond_broadcast(COND(c)), cnd_t *c)
LIKE_POSIX(cnd_wait, pthread_cond_wait(COND(c), MUTEX(m)), cnd_t *c, mtx_t *m)
LIKE_POSIX(cnd_timedwait, pthread_cond_timedwait(COND(c), MUTEX(m), until), cnd_t *restrict c,
	   mtx_t *restrict m, const struct timespec *restrict until)
LIKE_POSIX(tss_create, pthread_key_create(key, at_end), tss_t *key, tss_dtor_t at_end)
LIKE_POSIX(tss_set, pthread_setspecific(key, value), tss_t key, void *value)
