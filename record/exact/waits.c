// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Implements semaphores, barriers, spinlocks and pthread_once(). */
#include <semaphore.h>

#include "cancel.h"
#include "sync.h"

/* ---- semaphores: a value, and a count of waiters ---- */

struct semaphore {
	uint32_t value, waiters;
};

static bool take(struct semaphore *s)
{
	uint32_t value = LOAD(&s->value);

	while (value)
		if (CAS(&s->value, &value, value - 1))
			return true;
	return false;
}

static int down(struct semaphore *s, uint64_t until, const void *pc)
{
	uint32_t broken = exact_self->broken;

	cancel_test();
	sched_work(10);
	while (!take(s)) {
		int result;

		ADD(&s->waiters, 1);
		result = CANCEL_POINT(futex_wait(&s->value, 0, until, UINT32_MAX, "sem_wait", pc));
		ADD(&s->waiters, -1);
		cancel_test();
		if (result != ETIMEDOUT && exact_self->broken == broken)
			continue;
		if (take(s))
			break;
		errno = result == ETIMEDOUT ? ETIMEDOUT : EINTR;
		return -1;
	}
	return 0;
}

WAITS(sem_t, struct semaphore, down, sem_wait, sem_timedwait, sem_clockwait)

API int sem_trywait(sem_t *s)
{
	if (!exact_on())
		return REAL(sem_trywait)(s);
	sched_work(10);
	if (take((struct semaphore *)s))
		return 0;
	errno = EAGAIN;
	return -1;
}

API int sem_post(sem_t *sem)
{
	struct semaphore *s = (struct semaphore *)sem;

	if (!exact_on())
		return REAL(sem_post)(sem);
	sched_work(10);
	ADD(&s->value, 1);
	if (LOAD(&s->waiters))
		futex_wake(&s->value, 1, UINT32_MAX);
	return 0;
}

/* ---- barriers ---- */

struct barrier {
	uint32_t arrived, round, count;
};

API int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr,
			     unsigned int count)
{
	struct barrier *b = (struct barrier *)barrier;

	if (!exact_on())
		return REAL(pthread_barrier_init)(barrier, attr, count);
	if (!count)
		return EINVAL;
	*b = (struct barrier){ .count = count };
	return 0;
}

API int pthread_barrier_destroy(pthread_barrier_t *b)
{
	return exact_on() ? 0 : REAL(pthread_barrier_destroy)(b);
}

API int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	struct barrier *b = (struct barrier *)barrier;
	uint32_t round;

	if (!exact_on())
		return REAL(pthread_barrier_wait)(barrier);
	sched_work(10);
	round = LOAD(&b->round);
	if (ADD(&b->arrived, 1) + 1 == b->count) {
		STORE(&b->arrived, 0);
		ADD(&b->round, 1);
		futex_wake(&b->round, INT32_MAX, UINT32_MAX);
		return PTHREAD_BARRIER_SERIAL_THREAD;
	}
	while (__atomic_load_n(&b->round, __ATOMIC_ACQUIRE) == round)
		futex_wait(&b->round, round, EXACT_EVER, UINT32_MAX, "pthread_barrier_wait", HERE);
	return 0;
}

/* ---- once: 1 running, 2 done, as in glibc ---- */

/* The routine threw an exception, or its thread ended in it: the next caller runs it again. */
static void abandon(pthread_once_t **under_way)
{
	if (!*under_way)
		return;
	STORE(*under_way, 0);
	futex_wake(*under_way, INT32_MAX, UINT32_MAX);
}

static void run_once(pthread_once_t *once, void (*routine)(void))
{
	pthread_once_t *under_way __attribute__((cleanup(abandon))) = once;

	routine();
	under_way = NULL;
	STORE(once, 2);
	futex_wake(once, INT32_MAX, UINT32_MAX);
}

API int pthread_once(pthread_once_t *once, void (*routine)(void))
{
	int state = 0;

	if (!exact_on())
		return REAL(pthread_once)(once, routine);
	sched_work(5);
	while (__atomic_load_n(once, __ATOMIC_ACQUIRE) != 2) {
		state = 0;
		if (CAS(once, &state, 1)) {
			run_once(once, routine);
			break;
		}
		if (state != 2)
			futex_wait(once, (uint32_t)state, EXACT_EVER, UINT32_MAX, "pthread_once",
				   HERE);
	}
	return 0;
}

/* ---- spinlocks: 1 is free, as in glibc on x86 ---- */

API int pthread_spin_lock(pthread_spinlock_t *l)
{
	if (!exact_on())
		return REAL(pthread_spin_lock)(l);
	while (ADD(l, -1) != 1)
		while (LOAD(l) <= 0) {
			sched_cycles(EXACT_PAUSE);
			sched_catch_up();
		}
	return 0;
}

API int pthread_spin_trylock(pthread_spinlock_t *l)
{
	if (!exact_on())
		return REAL(pthread_spin_trylock)(l);
	return SWAP(l, 0) == 1 ? 0 : EBUSY;
}

API int pthread_spin_unlock(pthread_spinlock_t *l)
{
	if (!exact_on())
		return REAL(pthread_spin_unlock)(l);
	STORE(l, 1);
	return 0;
}
