// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A program that a signal ends leaves a report too. The result is written with the model's own
 * memory (private.h), because the program may have corrupted its heap or hold its locks. A signal
 * from outside may come while the model itself allocates. Then writing may never end, so after
 * PATIENCE the program ends without a report.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "exact.h"
#include "masks.h"
#include "pass.h"
#include "private.h"
#include "real.h"
#include "timers.h"
#include "turns.h"

#define PATIENCE 20 /* seconds of the host */
#define LOOPS	 60 /* seconds, for a loop that a handler or a child may still end */
#define STACK	 (256u << 10)

static volatile sig_atomic_t came;

/* Raise the signal with its default action, which takes effect once it is no longer blocked. */
static void again(int which)
{
	PASS(signal(which, SIG_DFL));
	PASS(raise(which));
}

static void give_up(int alarm)
{
	sigset_t set;

	again(came);
	sigemptyset(&set);
	sigaddset(&set, came);
	PASS(sigprocmask(SIG_UNBLOCK, &set, NULL));
}

static void write_result(void)
{
	result_write("a signal");
}

static void ends(int which)
{
	sigset_t set;

	if (exact.recording && !came) {
		came = which;
		PASS(signal(SIGALRM, give_up));
		sigemptyset(&set);
		sigaddset(&set, SIGALRM);
		PASS(sigprocmask(SIG_UNBLOCK, &set, NULL));
		PASS(alarm(PATIENCE));
		private_do(write_result);
	}
	again(which);
}

/* Does the program have a handler? If system calls are not dispatched, the kernel knows it. */
static bool handlers(void)
{
	struct sigaction now;

	for (int which = 1; !masks_on() && which < 65; which++)
		if (which != SIGSYS && which != TURNS_SIGNAL && !sigaction(which, NULL, &now) &&
		    now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN &&
		    now.sa_handler != ends)
			return true;
	return masks_on() && masks_handled();
}

void fatal_endless(time_t since)
{
	struct timespec now = { 0 };

	PASS(REAL(clock_gettime)(CLOCK_MONOTONIC, &now));
	if ((!exact.children && !handlers() && timers_next(true) == EXACT_EVER) ||
	    now.tv_sec >= since + LOOPS)
		result_spin();
}

int fatal_begin(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS,	 SIGFPE,  SIGILL,    SIGABRT, SIGTRAP,
				       SIGSYS,	SIGTERM, SIGPIPE, SIGXCPU,   SIGINT,  SIGHUP,
				       SIGQUIT, SIGALRM, SIGPROF, SIGVTALRM, SIGUSR1, SIGUSR2 };
	stack_t stack = { .ss_sp = malloc(STACK), .ss_size = STACK };
	struct sigaction ours = { .sa_handler = ends, .sa_flags = SA_ONSTACK }, before;

	exact.last_resort = (void *)ends;
	if (!stack.ss_sp || sigaltstack(&stack, NULL))
		return -1;
	for (unsigned int i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(signals[i], &ours, NULL);
	return 0;
}
