/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* outside.h - calls that wait for something outside of the program. */
#ifndef EXACT_OUTSIDE_H
#define EXACT_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "exact.h"

/** outside_from - note that the program called the running function at @pc. Return: true */
bool outside_from(const void *pc);
/* Is the caller's thread simulated? If so, note from where the program called. */
#define outside_enter() (exact_on() && outside_from(__builtin_return_address(0)))

/** outside_call - the caller begins a system call. */
void outside_call(void);

/** outside_blocks - would a call on @file wait? */
bool outside_blocks(int file);

/** outside_until - when a wait of at most @most ends; never, if @most is NULL. */
uint64_t outside_until(const struct timespec *most);

/* A call that waits: how often it looked, and the thread's count of handlers when it began. */
struct outside {
	uint32_t looked, handlers;
	bool any;
};

/** outside_begin - begin a call that waits. @any: a handler with SA_RESTART also ends the call */
struct outside outside_begin(bool any);

/** outside_ended - has a handler run that ends the call? Return: if so, true, with errno EINTR. */
bool outside_ended(const struct outside *call);

/**
 * outside_again - nothing was there: let other threads run until it is time to look again.
 *
 * Return: false with EINTR if a handler ended the call.
 */
bool outside_again(struct outside *call);

/**
 * outside_wait - let other threads run until @file has one of @events (POLLIN, POLLOUT), or fails.
 *
 * Return: false with errno if the file's own limit of time (SO_RCVTIMEO, SO_SNDTIMEO) has passed,
 * or if a handler ended the call.
 */
bool outside_wait(int file, short events);

#endif
