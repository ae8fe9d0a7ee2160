/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* turns.h - lets other threads run while code without instrumentation does not end. */
#ifndef EXACT_TURNS_H
#define EXACT_TURNS_H

#include <jansson.h>
#include <stdbool.h>

#include "exact.h"

/* The timer's signal, which no program uses. */
#define TURNS_SIGNAL SIGSTKFLT

/** turns_tick - the handler of TURNS_SIGNAL. May switch fibers. */
void turns_tick(int which, siginfo_t *info, void *context);

/**
 * turns_begin - start the timer, in the thread that simulates. The signal's handler must be set.
 */
void turns_begin(void);

/* Turns that come to 4 s of CPU time. */
#define TURNS_ENDLESS 1000u

/** turns_endless - is the thread in an endless loop of code without instrumentation? */
static inline bool turns_endless(const struct thread *t)
{
	return t->turns.pc && t->turns.times >= TURNS_ENDLESS;
}

/** turns_json - [pc, how often] of each place at which others had a turn. */
json_t *turns_json(void);

#endif
