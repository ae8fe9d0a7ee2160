/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* pass.h - system calls that dispatch.c must not see. */
#ifndef EXACT_PASS_H
#define EXACT_PASS_H

#include "exact.h"
#include "real.h"

/*
 * The byte that the kernel reads at each system call: if it is 1, the call goes to dispatch.c
 * first. pass_armed is its value outside of PASS().
 */
extern volatile char pass_selector HIDDEN;
extern char pass_armed HIDDEN;

/** pass_all - let all system calls pass from now on, or no longer. */
void pass_all(bool all);

/* Make a call that does not wait, or that must stop all threads, without dispatch. */
#define PASS(call)                          \
	({                                  \
		__typeof__(call) passed_;   \
		pass_selector = 0;          \
		passed_ = (call);           \
		pass_selector = pass_armed; \
		passed_;                    \
	})

/* A system call without dispatch. */
#define KERNEL(...) PASS(REAL(syscall)(__VA_ARGS__))

#endif
