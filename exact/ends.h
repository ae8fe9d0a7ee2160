/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* ends.h - ends of threads that do not return. */
#ifndef EXACT_ENDS_H
#define EXACT_ENDS_H

#include "exact.h"

/** threads_first_ends - the first thread ends before the program: it waits for all others. */
_Noreturn void threads_first_ends(void);

/** ends_now - the calling thread ends, with all that is to be done before. */
_Noreturn void ends_now(struct thread *t, void *result);

#endif
