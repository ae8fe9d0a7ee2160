/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * sync.h - locks and the like, which are ordinary code: the files that have them are compiled as
 * the program is, so that their accesses take what the program's take.
 *
 * The words of each lie where glibc 2.34 and later has them on x86-64, or in their first bytes
 * where their initial state is zero. So what the C library has initialised is good here.
 */
#ifndef EXACT_SYNC_H
#define EXACT_SYNC_H

#include <errno.h>
#include <time.h>

#include "exact.h"
#include "real.h"

#define HERE __builtin_return_address(0)

/** clock_begins - the second that this clock has when the program begins. */
uint64_t clock_begins(clockid_t clock);

/** clock_until - the simulated time of an absolute one; EXACT_EVER for NULL. */
uint64_t clock_until(clockid_t clock, const struct timespec *ts);

int mutex_lock(pthread_mutex_t *m, uint64_t until, const void *pc);
int mutex_unlock(pthread_mutex_t *m);

/** mutex_end - the calling thread ends: its robust mutexes are left to others. */
void mutex_end(struct thread *t);

#define LOAD(at)	 __atomic_load_n(at, __ATOMIC_RELAXED)
#define STORE(at, value) __atomic_store_n(at, value, __ATOMIC_RELEASE)
#define SWAP(at, value)	 __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL)
#define ADD(at, value)	 __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL)
#define CAS(at, old, new) \
	__atomic_compare_exchange_n(at, old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)

#endif
