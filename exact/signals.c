// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads that wait for signals, the usual way to have one thread for all. The thread looks again
 * and again, as for other things from outside: a signal that pthread_kill() sent it waits here, one
 * from outside in the kernel. The mask of signals is that of the host's one thread. So a signal
 * that is not blocked has its effect at once, in the thread that sends it.
 */
#include <errno.h>
#include <signal.h>

#include "pass.h"
#include "outside.h"
#include "real.h"
#include "sync.h"

static bool was_sent(struct thread *t, const sigset_t *set, int *which)
{
	for (int n = 1; n < 64; n++) {
		if (!(t->pending >> n & 1) || sigismember(set, n) != 1)
			continue;
		t->pending &= ~(1ull << n);
		*which = n;
		return true;
	}
	return false;
}

API int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *most)
{
	const struct timespec now = { 0, 0 };
	struct thread *t = exact_self;
	uint32_t looked = 0;
	uint64_t end;
	int came;

	if (!exact_on())
		return REAL(int, sigtimedwait,
			    (const sigset_t *, siginfo_t *, const struct timespec *))(set, info,
										      most);
	outside_call();
	end = outside_until(most);
	for (;;) {
		if (was_sent(t, set, &came)) {
			if (info)
				*info = (siginfo_t){ .si_signo = came, .si_code = SI_TKILL };
			return came;
		}
		came = PASS(REAL(int, sigtimedwait,
				 (const sigset_t *, siginfo_t *, const struct timespec *))(
			set, info, &now));
		if (came > 0 || errno != EAGAIN || sched_time() >= end)
			return came;
		outside_again(&looked);
	}
}

API int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	if (!exact_on())
		return REAL(int, sigwaitinfo, (const sigset_t *, siginfo_t *))(set, info);
	return sigtimedwait(set, info, NULL);
}

API int sigwait(const sigset_t *set, int *which)
{
	if (!exact_on())
		return REAL(int, sigwait, (const sigset_t *, int *))(set, which);
	do
		*which = sigtimedwait(set, NULL, NULL);
	while (*which < 0 && errno == EINTR);
	return *which < 0 ? errno : 0;
}

API int pthread_kill(pthread_t real, int which)
{
	struct thread *t;
	sigset_t blocked;

	if (!exact_on())
		return REAL(int, pthread_kill, (pthread_t, int))(real, which);
	outside_call();
	sched_catch_up();
	t = threads_find(real);
	if (!t || t->ended)
		return ESRCH;
	if (which <= 0 || which >= 64)
		return which ? EINVAL : 0;
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	if (sigismember(&blocked, which) != 1)
		return raise(which) ? EINVAL : 0;
	t->pending |= 1ull << which; /* until it waits for it */
	return 0;
}
