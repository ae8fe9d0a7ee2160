/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * dispatch.h - system calls of code that this library does not replace: those that wait let other
 * threads run meanwhile.
 */
#ifndef EXACT_DISPATCH_H
#define EXACT_DISPATCH_H

#include "exact.h"

/** dispatch_begin - from now on, where the kernel can do it. In the thread that simulates. */
void dispatch_begin(void);

/** dispatch_end - system calls are the kernel's alone again. */
void dispatch_end(void);

/* What the kernel reads: 1, system calls come to this library first. */
extern volatile char dispatch_selector HIDDEN;
extern char dispatch_armed HIDDEN;

/* A call of the C library's that must not come here: it does not wait, or must stop all threads. */
#define PASS(call)                                  \
	({                                          \
		__typeof__(call) passed_;           \
		dispatch_selector = 0;              \
		passed_ = (call);                   \
		dispatch_selector = dispatch_armed; \
		passed_;                            \
	})

#endif
