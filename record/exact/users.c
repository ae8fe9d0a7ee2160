// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Changes the user or group. The kernel keeps both per thread, so the C library interrupts all real
 * threads but the caller, and waits until each has changed. The model does not see real threads, so
 * the wait happens in the kernel. The C library must see the first real thread, which executes
 * everything, as the caller. Otherwise the C library would wait for ever for that thread.
 */
#include <errno.h>
#include <grp.h>
#include <unistd.h>

#include "fiber.h"
#include "pass.h"
#include "exact.h"
#include "real.h"

/*
 * The address of errno depends on the thread. Inlined, this function would use the old thread's.
 */
static __attribute__((noinline)) int error_now(void)
{
	__asm__ volatile("" ::: "memory");
	return errno;
}

/* Pretend to be the first thread. Return: the caller, or NULL if nothing is recorded. */
static struct thread *as_first(void)
{
	struct thread *self = exact_self;

	if (!exact_on())
		return NULL;
	sched_cycles(EXACT_CALL);
	fiber_local(&exact.threads[0]->fiber);
	return self;
}

static int as_before(const struct thread *self, int result)
{
	int error = error_now();

	if (self)
		fiber_local(&self->fiber);
	if (result)
		errno = error;
	return result;
}

#define CHANGES(name, parameters, ...)                                   \
	API int name parameters                                          \
	{                                                                \
		int(*real_) parameters = REAL_OF(int, name, parameters); \
		const struct thread *self = as_first();                  \
                                                                         \
		return as_before(self, PASS(real_(__VA_ARGS__)));        \
	}

CHANGES(setuid, (uid_t user), user)
CHANGES(seteuid, (uid_t user), user)
CHANGES(setreuid, (uid_t real, uid_t user), real, user)
CHANGES(setresuid, (uid_t real, uid_t user, uid_t saved), real, user, saved)
CHANGES(setgid, (gid_t group), group)
CHANGES(setegid, (gid_t group), group)
CHANGES(setregid, (gid_t real, gid_t group), real, group)
CHANGES(setresgid, (gid_t real, gid_t group, gid_t saved), real, group, saved)
CHANGES(setgroups, (size_t n, const gid_t *groups), n, groups)
CHANGES(initgroups, (const char *user, gid_t group), user, group)
