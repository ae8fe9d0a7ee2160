/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* locks.h - all locks of the library, in the order in which a thread may take them. */
#ifndef SCHEDSHARD_LOCKS_H
#define SCHEDSHARD_LOCKS_H

enum shard_lock_of {
	LOCK_QUEUES, /* queues of waiters */
	LOCK_PLANS,  /* the plans of this machine */
	LOCK_MEMORY, /* chunks of lines */
	LOCK_WATCH,  /* who claimed or put */
	NR_LOCKS
};

void shard_lock(enum shard_lock_of which);
void shard_unlock(enum shard_lock_of which);

#endif
