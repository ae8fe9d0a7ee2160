/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* ways.h - records each thread's calls of functions that 'schedshard cc' compiled, for --stacks. */
#ifndef EXACT_WAYS_H
#define EXACT_WAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "exact.h"
#include "sites.h"

struct ways;

/* Symbols of the linker: the bounds of this library's code. */
extern const char __ehdr_start HIDDEN, etext HIDDEN;

/** ways_own - is @pc in this library? */
static inline bool ways_own(const void *pc)
{
	return (const char *)pc >= &__ehdr_start && (const char *)pc < &etext;
}

extern struct sites ways_sites HIDDEN;
/* The calls of this thread; NULL if the recording has no stacks, or not this thread. */
extern _Thread_local struct ways *ways_mine HIDDEN __attribute__((tls_model("initial-exec")));

/** ways_begin - record stacks. Return: 0, or -1 if there is no memory. */
int ways_begin(void);

/** ways_thread - the calling thread begins. */
void ways_thread(const struct thread *t);

/**
 * ways_entered, ways_left - called by the hooks: a function has been called, or is returning
 * @pc: the address after the function's call
 * @to: where the hook returns to: into the function, or to the address after the function's call if
 *	the function has jumped to the hook
 * @frame: the hook's frame
 */
void ways_entered(const void *pc, const void *frame);
void ways_left(const void *to, const void *frame);

/** ways_site - the number of an access at @pc, with the calls that led there (sites.h). */
uint64_t ways_site(uint64_t pc);

#endif
