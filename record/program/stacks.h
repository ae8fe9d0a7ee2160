/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * stacks.h - the calls of each thread of an emulated program.
 *
 * Concurrency: each thread has its own calls; only the sites are shared (sites.h).
 */
#ifndef RECORD_STACKS_H
#define RECORD_STACKS_H

#include <stdbool.h>
#include <stdint.h>

/** stacks_on - does this recording have stacks? */
bool stacks_on(void);

/** stacks_call - a call at @pc has written its return address to @sp. */
void stacks_call(uint64_t sp, uint64_t pc);

/** stacks_return - a return has read its return address from @sp. */
void stacks_return(uint64_t sp);

/** stacks_site - the number of an access at @pc, with the calls that led there (sites.h). */
uint64_t stacks_site(uint64_t pc);

#endif
