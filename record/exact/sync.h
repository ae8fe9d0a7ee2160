/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * sync.h - locks and other objects for which threads wait. These files are compiled with
 * instrumentation, as the program is, so their accesses cost what the program's do.
 *
 * Our locks are laid out inside the C library's types (pthread_mutex_t and so on). A member that an
 * initialiser sets to other than 0, such as a mutex's kind, is where glibc 2.34 and later has it on
 * x86-64. The other members are in the type's first bytes, except for some of a rwlock. So objects
 * that the C library has initialised work here.
 */
#ifndef EXACT_SYNC_H
#define EXACT_SYNC_H

#include <errno.h>
#include <time.h>

#include "exact.h"
#include "real.h"

#define HERE __builtin_return_address(0)

/** clock_begins - what this clock shows when the program begins, in seconds. */
uint64_t clock_begins(clockid_t clock);

/** clock_until - convert a clock's absolute time to simulated picoseconds; EXACT_EVER for NULL. */
uint64_t clock_until(clockid_t clock, const struct timespec *ts);

int mutex_lock(pthread_mutex_t *m, uint64_t until, const void *pc);
int mutex_unlock(pthread_mutex_t *m);

/** mutex_end - the calling thread ends: its robust mutexes are left to others. */
void mutex_end(struct thread *t);

/* The functions that wait for an object: for ever, until a time, and until a time of a clock. */
#define WAITS(type, object, wait, ever, timed, clocked)                                  \
	API int ever(type *o)                                                            \
	{                                                                                \
		return exact_on() ? wait((object *)o, EXACT_EVER, HERE) : REAL(ever)(o); \
	}                                                                                \
	API int timed(type *o, const struct timespec *until)                             \
	{                                                                                \
		if (!exact_on())                                                         \
			return REAL(timed)(o, until);                                    \
		return wait((object *)o, clock_until(CLOCK_REALTIME, until), HERE);      \
	}                                                                                \
	API int clocked(type *o, clockid_t clock, const struct timespec *until)          \
	{                                                                                \
		if (!exact_on())                                                         \
			return REAL(clocked)(o, clock, until);                           \
		return wait((object *)o, clock_until(clock, until), HERE);               \
	}

#define LOAD(at)	 __atomic_load_n(at, __ATOMIC_RELAXED)
#define STORE(at, value) __atomic_store_n(at, value, __ATOMIC_RELEASE)
#define SWAP(at, value)	 __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL)
#define ADD(at, value)	 __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL)
#define CAS(at, old, new) \
	__atomic_compare_exchange_n(at, old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)

#endif
