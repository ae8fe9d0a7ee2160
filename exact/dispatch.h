/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * dispatch.h - system calls of code that this library does not replace: those that wait let other
 * threads run meanwhile.
 */
#ifndef EXACT_DISPATCH_H
#define EXACT_DISPATCH_H

#include <signal.h>

/** dispatch_begin - from now on, where the kernel can do it. In the thread that simulates. */
void dispatch_begin(void);

/**
 * dispatch_handle - a signal of this library's own: its end is no system call of the program.
 * @flags: SA_ONSTACK: aside of the thread's stack, for a handler that switches no fiber; or 0
 */
int dispatch_handle(int which, int flags,
		    void (*handler)(int which, siginfo_t *info, void *context));

#endif
