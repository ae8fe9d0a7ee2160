// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Implements pthread_cancel(). The C library's function would cancel the real thread, which is
 * parked. So this file marks the thread as cancelled, and ends its wait if the wait is a
 * cancellation point. The thread ends itself at the next cancellation point, as by pthread_exit().
 * With PTHREAD_CANCEL_ASYNCHRONOUS the thread also ends itself where it lets others catch up.
 */
#include "cancel.h"

#include <errno.h>

#include "real.h"

API void pthread_testcancel(void)
{
	if (exact_on())
		cancel_test();
	else
		REAL(pthread_testcancel)();
}

API int pthread_setcancelstate(int state, int *before)
{
	if (!exact_on())
		return REAL(pthread_setcancelstate)(state, before);
	if (before)
		*before = exact_self->cancel_off ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE;
	exact_self->cancel_off = state == PTHREAD_CANCEL_DISABLE;
	return 0;
}

API int pthread_setcanceltype(int type, int *before)
{
	if (!exact_on())
		return REAL(pthread_setcanceltype)(type, before);
	if (before)
		*before = exact_self->cancel_soon ? PTHREAD_CANCEL_ASYNCHRONOUS
						  : PTHREAD_CANCEL_DEFERRED;
	exact_self->cancel_soon = type == PTHREAD_CANCEL_ASYNCHRONOUS;
	return 0;
}

API int pthread_cancel(pthread_t real)
{
	struct thread *t;

	if (!exact_on())
		return REAL(pthread_cancel)(real);
	sched_cycles(EXACT_CALL);
	sched_catch_up();
	t = threads_find(real);
	if (!t || t->ended)
		return t ? 0 : ESRCH;
	t->cancelled = true;
	if (t->cancel_off || t->dispatched)
		return 0;
	if (t == exact_self) {
		if (t->cancel_soon)
			cancel_test();
	} else if (t->cancel_point || t->cancel_soon) {
		futex_interrupt(t);
	}
	return 0;
}
