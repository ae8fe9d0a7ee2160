/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * guest_clock.h - libschedshard-guest-clock.so, preloaded into the emulator: what time it is in the
 * guest.
 *
 * First the host's monotonic clock, 1 / SCHEDSHARD_SLOW as fast. While the window is open the time
 * is that of the model, so that a timer of ten microseconds comes after ten microseconds of what
 * the guest's CPUs are simulated to do, however long that takes here. Then the host's clock again,
 * from there on.
 *
 * The plugin and this library are loaded apart: the functions are weak, and missing when it was
 * not preloaded.
 *
 *   guest_clock_thread                      a thread that executes guest code, for itself
 *   guest_clock_follow, guest_clock_leave   once each, in this order
 *   guest_clock_alarm                       one thread at a time
 */
#ifndef PLUGIN_GUEST_CLOCK_H
#define PLUGIN_GUEST_CLOCK_H

#include <stdint.h>

#define GUEST_CLOCK_API	  __attribute__((visibility("default"), weak))
#define GUEST_CLOCK_NEVER UINT64_MAX

/**
 * guest_clock_follow - from now on, time is what it was plus *@ps
 * @ps: picoseconds, not decreasing; read by any thread until guest_clock_leave()
 *
 * Return: 0, or -1 with errno set, and nothing has changed: the host has no descriptor left.
 */
GUEST_CLOCK_API int guest_clock_follow(const uint64_t *ps);

/**
 * guest_clock_due - when the emulator's next timer is
 *
 * Return: where it is said, in the picoseconds of guest_clock_follow(), while the main loop waits
 * for one; GUEST_CLOCK_NEVER otherwise. Written by the main loop, read by any thread.
 */
GUEST_CLOCK_API const uint64_t *guest_clock_due(void);

/** guest_clock_leave - the host's clock takes over. */
GUEST_CLOCK_API void guest_clock_leave(void);

/**
 * guest_clock_thread - the time stamp counter that this thread reads is that of the guest's time.
 *
 * That is the host's until guest_clock_follow(), and goes on at the same rate, against the slow
 * clock. Best called some time before: a thread that has not reads the host's counter all the same.
 *
 * Return: 0, or -1 with errno set: the host does not let a thread be told another counter.
 */
GUEST_CLOCK_API int guest_clock_thread(void);

/**
 * guest_clock_alarm - the next timer is due: have the main loop look.
 *
 * Returns when it has looked, or after a few milliseconds: it may be held up by somebody who
 * waits for the caller.
 */
GUEST_CLOCK_API void guest_clock_alarm(void);

#endif
