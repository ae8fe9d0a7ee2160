// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The reader's side of glibc's pthread_rwlock_t (2.25 and later, default attributes). Its steps:
 *
 *   lock    load the writer's thread number (is it this thread?); load the flags (are
 *           writers preferred?); add a reader; check for a writer's phase
 *   unlock  load the writer's number again; load whether processes share the lock; load the
 *           readers; compare-and-swap them down until it succeeds
 *
 * All of these words are on one line, which other readers write meanwhile: each load can miss.
 *
 * Since there are no writers, the operation is a reader that does not wait.
 */
#include "primitive.h"

#define WRITE_PHASE    (1u << 0) /* bits of readers */
#define WRITE_LOCKED   (1u << 1)
#define READER_WAITS   (1u << 2)
#define READER	       (1u << 3)
#define OVERFLOW       (1u << 31)
#define PREFER_WRITERS 2u /* without recursive readers; a value of flags */

struct glibc_rwlock {
	u32 readers;
	u32 writers;
	u32 wrphase_futex;
	u32 writers_futex;
	u32 unused[2];
	s32 cur_writer;
	s32 shared;
	u64 elision;
	u64 unused2;
	u32 flags;
} port_cacheline_aligned;

static_assert(offsetof(struct glibc_rwlock, cur_writer) == 24, "as in glibc's ABI on 64 bits");
static_assert(offsetof(struct glibc_rwlock, flags) == 48, "as in glibc's ABI on 64 bits");

PRIMITIVE_OBJECT(glibc_rwlock, "rwlock of glibc")

static void read_lock(struct glibc_rwlock *lock, s32 me)
{
	u32 readers;

	PORT_WARN_ON(READ_ONCE(lock->cur_writer) == me);
	PORT_WARN_ON(READ_ONCE(lock->flags) == PREFER_WRITERS);
	readers = __atomic_add_fetch(&lock->readers, READER, __ATOMIC_ACQUIRE);
	PORT_WARN_ON(readers & (OVERFLOW | WRITE_PHASE));
}

static void read_unlock(struct glibc_rwlock *lock, s32 me)
{
	u32 readers, left;
	bool shared;

	PORT_WARN_ON(READ_ONCE(lock->cur_writer) == me);
	shared = READ_ONCE(lock->shared);
	readers = READ_ONCE(lock->readers);
	do {
		left = readers - READER;
		if (left < READER) {
			if (left & WRITE_LOCKED)
				left |= WRITE_PHASE;
			left &= ~READER_WAITS;
		}
	} while (!__atomic_compare_exchange_n(&lock->readers, &readers, left, true,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	/* This would wake a waiting writer, through a shared or private futex. */
	PORT_WARN_ON(shared || left & (WRITE_PHASE | READER_WAITS));
}

static void ops(void *state, const struct primitive_thread *thread, u64 n)
{
	s32 me = (s32)thread->number + 1;

	while (n--) {
		read_lock(state, me);
		primitive_hold(thread);
		read_unlock(state, me);
	}
}

static bool consistent(const void *state, u64 n)
{
	const struct glibc_rwlock *lock = state;

	return !READ_ONCE(lock->readers);
}

PRIMITIVE(rwlock_glibc_read, "rwlock-glibc-read", "read lock of glibc's pthread_rwlock_t", true,
	  create, ops, consistent, destroy);
