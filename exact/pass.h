/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* pass.h - calls of the C library that dispatch.c must not see. */
#ifndef EXACT_PASS_H
#define EXACT_PASS_H

#include "exact.h"

/* What the kernel reads: 1, system calls come to dispatch.c first; and what it is between calls. */
extern volatile char pass_selector HIDDEN;
extern char pass_armed HIDDEN;

/** pass_all - from now on, or no longer. */
void pass_all(bool all);

/* A call that does not wait, or that must stop all threads. */
#define PASS(call)                          \
	({                                  \
		__typeof__(call) passed_;   \
		pass_selector = 0;          \
		passed_ = (call);           \
		pass_selector = pass_armed; \
		passed_;                    \
	})

#endif
