/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * host_time.h - the host's monotonic clock, whatever clock the emulator reads.
 *
 * It bypasses the C library, whose clock_gettime() is guest_clock.c's.
 */
#ifndef PLUGIN_HOST_TIME_H
#define PLUGIN_HOST_TIME_H

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull

/** host_now - nanoseconds. Any thread. */
static inline uint64_t host_now(void)
{
	struct timespec time;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_nsec;
}

#endif
