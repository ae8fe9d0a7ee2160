// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Implements sigwait(), with which one thread may handle all signals, and pthread_kill(). A waiting
 * thread polls the signals that it was sent, then those that are pending in the kernel.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "masks.h"
#include "outside.h"
#include "pass.h"
#include "real.h"
#include "sync.h"

static int look(const sigset_t *set, siginfo_t *info)
{
	const struct timespec now = { 0, 0 };
	siginfo_t own;
	uint64_t bits;

	files_hide();
	memcpy(&bits, set, sizeof(bits));
	if (masks_take(bits, &own)) {
		if (info)
			*info = own;
		return own.si_signo;
	}
	return PASS(REAL(sigtimedwait)(set, info, &now));
}

API int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *most)
{
	struct thread *t = exact_self;
	struct outside call;
	uint64_t end;
	int found;

	if (!exact_on())
		return REAL(sigtimedwait)(set, info, most);
	outside_call();
	end = outside_until(most);
	call = outside_begin(true);
	memcpy(&t->awaits, set, sizeof(t->awaits));
	while ((found = look(set, info)) < 0 && (errno == EAGAIN || errno == EINTR)) {
		errno = EAGAIN;
		if (sched_time() >= end || !outside_again(&call))
			break;
	}
	t->awaits = 0;
	return found;
}

API int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	if (!exact_on())
		return REAL(sigwaitinfo)(set, info);
	return sigtimedwait(set, info, NULL);
}

API int sigwait(const sigset_t *set, int *which)
{
	if (!exact_on())
		return REAL(sigwait)(set, which);
	do
		*which = sigtimedwait(set, NULL, NULL);
	while (*which < 0 && errno == EINTR);
	return *which < 0 ? errno : 0;
}

static int send(pthread_t real, siginfo_t info)
{
	int which = info.si_signo;
	struct thread *t;
	sigset_t blocked;

	outside_call();
	sched_catch_up();
	t = threads_find(real);
	if (!t || t->ended)
		return ESRCH;
	if (which <= 0 || which >= MASKS_SIGNALS)
		return which ? EINVAL : 0;
	info.si_pid = exact.pid;
	info.si_uid = PASS(getuid());
	/*
	 * With one mask for all threads, the signal is kept if it is blocked, else raised here at
	 * once.
	 */
	if (!masks_on() && !pthread_sigmask(SIG_BLOCK, NULL, &blocked) &&
	    sigismember(&blocked, which) != 1)
		return raise(which) ? EINVAL : 0;
	return masks_send(t, &info);
}

API int pthread_kill(pthread_t real, int which)
{
	if (!exact_on())
		return REAL(pthread_kill)(real, which);
	return send(real, (siginfo_t){ .si_signo = which, .si_code = SI_TKILL });
}

API int pthread_sigqueue(pthread_t real, int which, const union sigval value)
{
	siginfo_t info = { .si_signo = which, .si_code = SI_QUEUE };

	if (!exact_on())
		return REAL(pthread_sigqueue)(real, which, value);
	info.si_value = value;
	return send(real, info);
}
