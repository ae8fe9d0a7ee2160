// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The reader's side of Linux's queued rwlock: one word counts the readers from bit 9 on, the bits
 * below belong to writers. A reader adds itself and checks the result; it leaves by subtracting.
 *
 * Since there are no writers, the operation is a reader that does not wait. The branch for writers
 * stays, because it needs the value that the addition returned.
 */
#include "primitive.h"

#define READER	    (1u << 9)
#define WRITER_BITS (READER - 1)

struct queued_rwlock {
	u32 count;
	u32 wait_lock;
} port_cacheline_aligned;

PRIMITIVE_OBJECT(queued_rwlock, "rwlock")

static void ops(void *state, const struct primitive_thread *thread, u64 n)
{
	struct queued_rwlock *lock = state;

	while (n--) {
		PORT_WARN_ON(__atomic_add_fetch(&lock->count, READER, __ATOMIC_ACQUIRE) &
			     WRITER_BITS);
		primitive_hold(thread);
		__atomic_fetch_sub(&lock->count, READER, __ATOMIC_RELEASE);
	}
}

static bool consistent(const void *state, u64 n)
{
	const struct queued_rwlock *lock = state;

	return !READ_ONCE(lock->count);
}

PRIMITIVE(rwlock_read, "rwlock-read", "read lock of Linux's queued rwlock", true, create, ops,
	  consistent, destroy);
