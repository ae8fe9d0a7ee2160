// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Signal handlers get an aligned stack.
 *
 * QEMU before 8.1 starts a handler with a stack pointer that is 8 bytes off. Code that stores whole
 * vector registers there, as snprintf() does, then ends in SIGSEGV. So each handler is called by
 * run(), which aligns the stack. If the program asks for its handler, it gets the one that it set,
 * not run().
 *
 * A handler is stored before the kernel is asked to use it. A signal that arrives in between
 * already runs the new handler.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload.h"

typedef void (*info_handler)(int, siginfo_t *, void *);
typedef void (*handler)(int);

static info_handler handlers[_NSIG];
static int (*next_sigaction)(int, const struct sigaction *, struct sigaction *);
static handler (*next_signal)(int, handler);
static handler (*next_sysv)(int, handler);

/* Runs at the start: handlers may call the functions of this file, but not dlsym(). */
__attribute__((constructor)) static void find_all(void)
{
	if (next_sigaction)
		return;
	next_signal = (handler(*)(int, handler))dlsym(RTLD_NEXT, "signal");
	next_sysv = (handler(*)(int, handler))dlsym(RTLD_NEXT, "__sysv_signal");
	next_sigaction = dlsym(RTLD_NEXT, "sigaction");
}

__attribute__((force_align_arg_pointer)) static void run(int number, siginfo_t *info, void *context)
{
	__atomic_load_n(&handlers[number], __ATOMIC_ACQUIRE)(number, info, context);
}

static bool is_ours(int number, handler to)
{
	return number > 0 && number < _NSIG && to != SIG_DFL && to != SIG_IGN && to != SIG_ERR &&
	       (info_handler)(void (*)(void))to != run;
}

PRELOAD_API int sigaction(int number, const struct sigaction *to, struct sigaction *old)
{
	info_handler was = NULL;
	struct sigaction through;
	bool ours;
	int result;

	find_all();
	if (number > 0 && number < _NSIG)
		was = __atomic_load_n(&handlers[number], __ATOMIC_RELAXED);
	ours = to && is_ours(number, to->sa_handler);
	if (ours) {
		through = *to;
		through.sa_sigaction = run;
		__atomic_store_n(&handlers[number], to->sa_sigaction, __ATOMIC_RELEASE);
	}
	result = next_sigaction(number, ours ? &through : to, old);
	if (result && ours)
		__atomic_store_n(&handlers[number], was, __ATOMIC_RELEASE);
	if (!result && old && old->sa_sigaction == run)
		old->sa_sigaction = was;
	return result;
}

static handler set(handler (*next)(int, handler), int number, handler to)
{
	bool ours = is_ours(number, to);
	info_handler was = NULL;
	handler old;

	if (number > 0 && number < _NSIG)
		was = __atomic_load_n(&handlers[number], __ATOMIC_RELAXED);
	if (ours)
		__atomic_store_n(&handlers[number], (info_handler)(void (*)(void))to,
				 __ATOMIC_RELEASE);
	old = next(number, ours ? (handler)(void (*)(void))run : to);
	if (old == SIG_ERR && ours)
		__atomic_store_n(&handlers[number], was, __ATOMIC_RELEASE);
	return (info_handler)(void (*)(void))old == run ? (handler)(void (*)(void))was : old;
}

PRELOAD_API handler signal(int number, handler to)
{
	find_all();
	return set(next_signal, number, to);
}

/* signal() of programs that ask for System V's rules. */
PRELOAD_API handler __sysv_signal(int number, handler to)
{
	find_all();
	return set(next_sysv, number, to);
}
