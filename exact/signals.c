// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A thread that waits for signals, the usual way to have one for all. It is not the host's thread
 * that simulates, so it waits as for a futex. Another thread of the program wakes it with
 * pthread_kill(). Signals from outside do not reach it: they have the process's handlers.
 */
#include <errno.h>
#include <signal.h>

#include "exact.h"
#include "real.h"
#include "sync.h"

API int sigwait(const sigset_t *set, int *which)
{
	struct thread *t = exact_self;

	if (!exact_on())
		return REAL(int, sigwait, (const sigset_t *, int *))(set, which);
	t->awaits = set;
	for (int n = 1; n < 64; n++) {
		if (!(t->pending >> n & 1) || sigismember(set, n) != 1)
			continue;
		t->pending &= ~(1ull << n);
		t->awaits = NULL;
		*which = n;
		return 0;
	}
	t->waits_in = "sigwait";
	t->waits_pc = HERE;
	sched_block();
	t->waits_in = NULL;
	t->awaits = NULL;
	*which = t->came;
	return 0;
}

API int pthread_kill(pthread_t real, int which)
{
	struct thread *t;

	if (!exact_on())
		return REAL(int, pthread_kill, (pthread_t, int))(real, which);
	sched_work(EXACT_CALL);
	sched_catch_up();
	t = threads_find(real);
	if (!t || t->ended)
		return ESRCH;
	if (which <= 0 || which >= 64)
		return which ? EINVAL : 0;
	if (t->awaits && t->waits_in && sigismember(t->awaits, which) == 1) {
		t->came = which;
		t->awaits = NULL;
		sched_wake(t, sched_time());
	} else if (t == exact_self) {
		return raise(which) ? EINVAL : 0;
	} else {
		t->pending |= 1ull << which; /* until it waits for it */
	}
	return 0;
}
