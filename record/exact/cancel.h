/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* cancel.h - ends a thread that another thread has cancelled. */
#ifndef EXACT_CANCEL_H
#define EXACT_CANCEL_H

#include "exact.h"

/* End the calling thread if it was cancelled. */
static inline void cancel_test(void)
{
	struct thread *t = exact_self;

	if (!exact_on() || !t->cancelled || t->cancel_off || t->dispatched)
		return;
	t->cancelled = false;
	t->cancel_off = true;
	exact.ends_now(t, PTHREAD_CANCELED);
}

/*
 * A wait that pthread_cancel() interrupts. The thread then ends in the cancel_test() that follows.
 */
#define CANCEL_POINT(wait)                        \
	({                                        \
		__typeof__(wait) waited_;         \
		exact_self->cancel_point = true;  \
		waited_ = (wait);                 \
		exact_self->cancel_point = false; \
		waited_;                          \
	})

#endif
