/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* stacks.h - each thread's alternative stack for signals, of sigaltstack(). */
#ifndef EXACT_STACKS_H
#define EXACT_STACKS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "exact.h"
#include "masks.h"

/** stacks_set - as sigaltstack(), of the caller, whose stack is at @sp. Return: 0 or an error. */
int stacks_set(const stack_t *asked, stack_t *before, uintptr_t sp);

/** stacks_gone - the thread has ended, and nothing of it runs. */
void stacks_gone(struct thread *t);

/** stacks_call - call @a's handler, on the thread's alternative stack if @a asks for it. */
void stacks_call(const struct masks_action *a, siginfo_t *info, ucontext_t *uc);

/**
 * stacks_after - in the handler of a fault: after it, the thread goes on in @then on a stack of its
 * own, and then where the fault was, with what @then left in the context
 * @restorer: leaves a handler by a call that dispatch.c does not see
 *
 * Return: false if there is no room on that stack.
 */
bool stacks_after(const struct masks_action *a, siginfo_t *info, ucontext_t *uc,
		  void (*then)(siginfo_t *info, ucontext_t *uc), void *restorer);

#endif
