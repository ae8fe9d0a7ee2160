// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A condition variable is a count of signals. No signal is lost, because a waiter reads the count
 * while it holds the mutex, and futex_wait() compares the count again.
 */
#include <string.h>

#include "cancel.h"
#include "sync.h"

struct cond {
	uint32_t signals, waiters;
	clockid_t clock;
};

API int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	struct cond *c = (struct cond *)cond;
	clockid_t clock = CLOCK_REALTIME;

	if (!exact_on())
		return REAL(pthread_cond_init)(cond, attr);
	if (attr)
		pthread_condattr_getclock(attr, &clock);
	memset(cond, 0, sizeof(*cond));
	c->clock = clock;
	return 0;
}

API int pthread_cond_destroy(pthread_cond_t *c)
{
	return exact_on() ? 0 : REAL(pthread_cond_destroy)(c);
}

static int wait_for(struct cond *c, pthread_mutex_t *m, uint64_t until, const void *pc)
{
	uint32_t seen = LOAD(&c->signals);
	int result, again;

	cancel_test();
	sched_work(20);
	ADD(&c->waiters, 1);
	result = mutex_unlock(m);
	if (!result)
		result = CANCEL_POINT(
			futex_wait(&c->signals, seen, until, UINT32_MAX, "pthread_cond_wait", pc));
	ADD(&c->waiters, -1);
	again = mutex_lock(m, EXACT_EVER, pc);
	cancel_test();
	if (again == EOWNERDEAD || again == ENOTRECOVERABLE)
		return again;
	return result == EAGAIN ? 0 : result;
}

API int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	if (!exact_on())
		return REAL(pthread_cond_wait)(c, m);
	return wait_for((struct cond *)c, m, EXACT_EVER, HERE);
}

API int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *m, const struct timespec *ts)
{
	struct cond *c = (struct cond *)cond;

	if (!exact_on())
		return REAL(pthread_cond_timedwait)(cond, m, ts);
	return wait_for(c, m, clock_until(c->clock, ts), HERE);
}

API int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
			       const struct timespec *ts)
{
	if (!exact_on())
		return REAL(pthread_cond_clockwait)(c, m, clock, ts);
	return wait_for((struct cond *)c, m, clock_until(clock, ts), HERE);
}

static int signal_some(struct cond *c, int n)
{
	sched_work(10);
	if (!LOAD(&c->waiters))
		return 0;
	ADD(&c->signals, 1);
	futex_wake(&c->signals, n, UINT32_MAX);
	return 0;
}

API int pthread_cond_signal(pthread_cond_t *c)
{
	if (!exact_on())
		return REAL(pthread_cond_signal)(c);
	return signal_some((struct cond *)c, 1);
}

API int pthread_cond_broadcast(pthread_cond_t *c)
{
	if (!exact_on())
		return REAL(pthread_cond_broadcast)(c);
	return signal_some((struct cond *)c, INT32_MAX);
}
