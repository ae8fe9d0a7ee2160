/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* outside.h - calls that wait for the world: they look, and others run until they look again. */
#ifndef EXACT_OUTSIDE_H
#define EXACT_OUTSIDE_H

#include <errno.h>
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

/** outside_again - nothing was there; @looked: how often, from 0. May switch. */
void outside_again(uint32_t *looked);

/** outside_broken - a handler ran after which a call ends: errno. @before: the thread's count. */
static inline bool outside_broken(uint32_t before)
{
	if (!exact_self || exact_self->broken == before)
		return false;
	errno = EINTR;
	return true;
}

/**
 * outside_wait - wait until @file has one of @events (POLLIN, POLLOUT), or fails. May switch.
 *
 * Return: false with errno if the file's own limit of time (SO_RCVTIMEO, SO_SNDTIMEO) has passed,
 * or a handler ran after which a call ends.
 */
bool outside_wait(int file, short events);

#endif
