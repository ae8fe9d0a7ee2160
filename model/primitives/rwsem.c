// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The reader's side of Linux's rw_semaphore. A reader adds itself to the count, then marks the
 * semaphore as owned by readers. It loads the owner word, keeps one flag of it, and stores the word
 * with the rest replaced. Count and owner share a line, so the store contends with the next
 * reader's addition.
 *
 * Since there are neither writers nor waiters, the operation is a reader that does not wait.
 */
#include "primitive.h"

#define READER		 (1ull << 8)
#define WRITER		 (1ull << 0)
#define WAITERS		 (1ull << 1)
#define HANDOFF		 (1ull << 2)
#define READ_FAIL	 (1ull << 63)
#define FAILED		 (WRITER | WAITERS | HANDOFF | READ_FAIL)
#define OWNED_BY_READERS (1ull << 0)
#define NOT_SPINNABLE	 (1ull << 1)

struct rw_semaphore {
	u64 count;
	u64 owner;
	u32 osq;
	u32 wait_lock;
	u64 wait_list[2];
} port_cacheline_aligned;

PRIMITIVE_OBJECT(rw_semaphore, "rwsem")

static void ops(void *state, const struct primitive_thread *thread, u64 n)
{
	struct rw_semaphore *sem = state;
	u64 task = ((u64)thread->number + 1) << 6; /* like an address, with free low bits */

	while (n--) {
		u64 count = __atomic_add_fetch(&sem->count, READER, __ATOMIC_ACQUIRE);

		PORT_WARN_ON(count & FAILED);
		WRITE_ONCE(sem->owner,
			   task | OWNED_BY_READERS | (READ_ONCE(sem->owner) & NOT_SPINNABLE));
		primitive_hold(thread);
		count = __atomic_sub_fetch(&sem->count, READER, __ATOMIC_RELEASE);
		PORT_WARN_ON((count & (WRITER | WAITERS)) == WAITERS);
	}
}

static bool consistent(const void *state, u64 n)
{
	const struct rw_semaphore *sem = state;

	return !READ_ONCE(sem->count) && (!n || READ_ONCE(sem->owner) & OWNED_BY_READERS);
}

PRIMITIVE(rwsem_read, "rwsem-read", "read lock of Linux's rw_semaphore", true, create, ops,
	  consistent, destroy);
