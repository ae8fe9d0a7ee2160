/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* turns.h - code without instrumentation that does not end while other threads cannot run. */
#ifndef EXACT_TURNS_H
#define EXACT_TURNS_H

#include <jansson.h>
#include <stdbool.h>

#include "exact.h"

/* Of the timer: no program uses it. */
#define TURNS_SIGNAL SIGSTKFLT

/** turns_tick - the handler of TURNS_SIGNAL. May switch. */
void turns_tick(int which, siginfo_t *info, void *context);

/** turns_begin - from now on, in the thread that simulates; the signal has its handler. */
void turns_begin(void);

/* Of CPU time that is 4 s. */
#define TURNS_ENDLESS 1000u

/** turns_endless - is the thread in a loop without an end, of code without instrumentation? */
static inline bool turns_endless(const struct thread *t)
{
	return t->turns.pc && t->turns.times >= TURNS_ENDLESS;
}

/** turns_json - [pc, how often] of each place at which others had a turn. */
json_t *turns_json(void);

#endif
