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

/**
 * stacks_set - as sigaltstack(), for the caller, whose stack pointer is @sp. Return: 0 or an error.
 */
int stacks_set(const stack_t *asked, stack_t *before, uintptr_t sp);

/** stacks_gone - drop the alternative stacks of a thread that runs no more. */
void stacks_gone(struct thread *t);

/** stacks_call - call @a's handler, on the thread's alternative stack if @a asks for it. */
void stacks_call(const struct masks_action *a, siginfo_t *info, ucontext_t *uc);

/**
 * stacks_after - in the handler of a fault: make the thread run @then afterwards, on its own stack
 * or its alternative one, and then resume at the fault with the context that @then left
 * @restorer: leaves a handler by a call that dispatch.c does not see
 *
 * Return: false if that stack is not writable.
 */
bool stacks_after(const struct masks_action *a, siginfo_t *info, ucontext_t *uc,
		  void (*then)(siginfo_t *info, ucontext_t *uc), void *restorer);

#endif
