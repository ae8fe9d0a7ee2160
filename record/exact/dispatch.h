/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* dispatch.h - catches system calls of code that this library does not replace. */
#ifndef EXACT_DISPATCH_H
#define EXACT_DISPATCH_H

#include <signal.h>

/**
 * dispatch_begin - catch system calls, if the kernel can. Called in the thread that simulates.
 */
void dispatch_begin(void);

/**
 * dispatch_handle - set this library's handler of a signal; the handler's return is not dispatched
 * @flags: SA_ONSTACK: on the alternative stack, for a handler that switches no fiber; or 0
 */
int dispatch_handle(int which, int flags,
		    void (*handler)(int which, siginfo_t *info, void *context));

#endif
