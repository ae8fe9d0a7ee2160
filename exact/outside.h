/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* outside.h - calls that wait for the world: they look, and others run until they look again. */
#ifndef EXACT_OUTSIDE_H
#define EXACT_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "exact.h"

/** outside_call - a system call that may tell another thread something begins. */
void outside_call(void);

/** outside_blocks - would a call on @file wait? */
bool outside_blocks(int file);

/** outside_until - when a wait of at most @most ends; NULL: never. */
uint64_t outside_until(const struct timespec *most);

/* A call that waits: how often it looked, and the thread's count of handlers that end it. */
struct outside {
	uint32_t looked, handlers;
	bool any;
};

/** outside_begin - @any: a handler with SA_RESTART ends the call as well */
struct outside outside_begin(bool any);

/** outside_ended - has a handler run that ends the call? Return: true, with EINTR. */
bool outside_ended(const struct outside *call);

/**
 * outside_again - nothing was there: others run, then the call looks again. May switch.
 *
 * Return: false with EINTR if a handler ended the call.
 */
bool outside_again(struct outside *call);

/**
 * outside_wait - wait until @file has one of @events (POLLIN, POLLOUT), or fails. May switch.
 *
 * Return: false with errno if the file's own limit of time (SO_RCVTIMEO, SO_SNDTIMEO) has passed,
 * or a handler ran after which a call ends.
 */
bool outside_wait(int file, short events);

#endif
