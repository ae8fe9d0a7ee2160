/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The differences between the explorer (host_explore.c) and threads (stress.c).
 */
#ifndef SHIM_HOST_H
#define SHIM_HOST_H

#include "port.h"

/* Wait until the lock is free, or, in the explorer, give up the executions in which it is not. */
void host_lock(u64 *lock);
bool host_trylock(u64 *lock);
void host_unlock(u64 *lock);

/* The simulated CPU of the caller; host_on() sets it before code that needs it. */
u32 host_cpu(void);
void host_on(u32 cpu);

/* A property of the code under test: false is a failure. */
void host_fail(const char *what);

#define host_check(cond, what)           \
	do {                             \
		if (!(cond))             \
			host_fail(what); \
	} while (0)

#endif
