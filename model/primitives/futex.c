// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Lets threads of the host sleep by Linux's futex. */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "primitive.h"

/* The calls pass no time limit, so the 64-bit call serves as well. */
#ifndef SYS_futex
#define SYS_futex SYS_futex_time64
#endif

/* A signal or a change of the word ends the sleep early: the caller checks the word again. */
void primitive_sleep(u32 *word, u32 value, const struct primitive_thread *thread)
{
	(void)thread;
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void primitive_wake(u32 *word, const struct primitive_thread *thread)
{
	(void)thread;
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
