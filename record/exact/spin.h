/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* spin.h - finds threads in loops that no other thread can end any more. */
#ifndef EXACT_SPIN_H
#define EXACT_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "exact.h"

/* Are all accesses watched? Then all of them go to lines_slow() (lines.h). */
extern bool spin_watched HIDDEN;
extern uint32_t spin_events HIDDEN;

/** spin_look - the thread has read @read, or, if NULL, executed EXACT_AHEAD instructions. */
void spin_look(const void *read);

/** spin_wrote - the thread has changed a value at @at, or may have. */
void spin_wrote(const volatile void *at);

/** spin_else - the program did other work: a thread began or ended, or made a system call. */
void spin_else(void);

/** spin_endless - is the thread in an endless loop, as far as is known? */
bool spin_endless(const struct thread *t);

/** spin_stuck - does each thread wait without a time limit, or run in an endless loop? */
bool spin_stuck(void);

/** spin_epoch - changes when a thread does anything new while accesses are watched. */
uint32_t spin_epoch(void);

#define SPIN_QUIET 1000000u

static inline void spin_event(const volatile void *read)
{
	if (__builtin_expect(spin_watched || ++spin_events >= SPIN_QUIET, false))
		spin_look((const void *)(uintptr_t)read);
}

#endif
