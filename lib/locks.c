// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Handlers of fork() take all locks before a fork, and parent and child release them after it.
 * Otherwise a child would wait forever for a lock that another thread of its parent held.
 */
#include "locks.h"

#include <pthread.h>

static pthread_mutex_t locks[NR_LOCKS] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
					   PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };

void shard_lock(enum shard_lock_of which)
{
	pthread_mutex_lock(&locks[which]);
}

void shard_unlock(enum shard_lock_of which)
{
	pthread_mutex_unlock(&locks[which]);
}

static void lock_all(void)
{
	for (int i = 0; i < NR_LOCKS; i++)
		shard_lock(i);
}

static void unlock_all(void)
{
	for (int i = NR_LOCKS; i--;)
		shard_unlock(i);
}

__attribute__((constructor)) static void survive_fork(void)
{
	pthread_atfork(lock_all, unlock_all, unlock_all);
}
