/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* ends.h - ends a thread whose function does not return. */
#ifndef EXACT_ENDS_H
#define EXACT_ENDS_H

#include "exact.h"

/** threads_first_ends - end the first thread before the program: wait for all others, then exit. */
_Noreturn void threads_first_ends(void);

/** ends_now - end the calling thread @t, after its cleanup handlers and destructors. */
_Noreturn void ends_now(struct thread *t, void *result);

#endif
