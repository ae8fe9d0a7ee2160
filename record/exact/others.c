// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Replaces calls that wait until another process ends, unlocks a file, or sends a signal. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pass.h"
#include "exact.h"
#include "files.h"
#include "masks.h"
#include "outside.h"
#include "real.h"
#include "timers.h"

/* ---- the end of a child ---- */

API pid_t wait4(pid_t child, int *status, int options, struct rusage *usage)
{
	int how = outside_enter() ? options | WNOHANG : options;
	struct outside call = outside_begin(false);
	pid_t ended;

	if (outside_enter())
		outside_call();
	while (!(ended = PASS(REAL(wait4)(child, status, how, usage))) && how != options) {
		if (!outside_again(&call))
			return -1;
	}
	return ended;
}

API pid_t waitpid(pid_t child, int *status, int options)
{
	return wait4(child, status, options, NULL);
}

API pid_t wait(int *status)
{
	return wait4(-1, status, 0, NULL);
}

API pid_t wait3(int *status, int options, struct rusage *usage)
{
	return wait4(-1, status, options, usage);
}

API int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	int how = outside_enter() ? options | WNOHANG : options, failed;
	struct outside call = outside_begin(false);
	siginfo_t own;

	if (!info)
		info = &own;
	if (outside_enter())
		outside_call();
	for (;;) {
		info->si_pid = 0;
		failed = PASS(REAL(waitid)(type, id, info, how));
		if (failed || info->si_pid || how == options)
			return failed;
		if (!outside_again(&call))
			return -1;
	}
}

/* ---- locks on files ---- */

API int flock(int file, int operation)
{
	int how = outside_enter() ? operation | LOCK_NB : operation;
	struct outside call = outside_begin(false);

	if (outside_enter())
		outside_call();
	while (PASS(REAL(flock)(file, how))) {
		if (errno != EWOULDBLOCK || how == operation)
			return -1;
		if (!outside_again(&call))
			return -1;
	}
	return 0;
}

static int control(int file, int command, void *arg)
{
	int how = command == F_SETLKW ? F_SETLK : command == F_OFD_SETLKW ? F_OFD_SETLK : command;
	struct outside call = outside_begin(false);
	int result;

	if (!outside_enter())
		how = command;
	else
		outside_call();
	for (;;) {
		result = PASS(REAL(fcntl)(file, how, arg));
		if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) {
			files_copied(file, result);
			timers_copied(file);
		}
		if (result >= 0 || how == command || (errno != EAGAIN && errno != EACCES))
			return result;
		if (!outside_again(&call))
			return -1;
	}
}

/* With large files the headers rename fcntl() to fcntl64(), in this file too. */
API int exact_fcntl(int file, int command, ...) __asm__("fcntl");
API int exact_fcntl64(int file, int command, ...) __asm__("fcntl64")
	__attribute__((alias("fcntl")));

API int exact_fcntl(int file, int command, ...)
{
	va_list list;
	void *arg;

	va_start(list, command);
	arg = va_arg(list, void *); /* NOLINT(clang-analyzer-valist.Uninitialized) */
	va_end(list);
	return control(file, command, arg);
}

/* ---- signals from outside ---- */

API int sigsuspend(const sigset_t *mask)
{
	if (!outside_enter() || !(masks_on() || exact.live > 1))
		return REAL(sigsuspend)(mask);
	return ppoll(NULL, 0, NULL, mask);
}

API int pause(void)
{
	if (!outside_enter() || !(masks_on() || exact.live > 1))
		return REAL(pause)();
	return ppoll(NULL, 0, NULL, NULL);
}
