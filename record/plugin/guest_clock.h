/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * guest_clock.h - libschedshard-guest-clock.so, preloaded into the emulator: the guest's time.
 *
 * At first the guest's time is the host's monotonic clock, 1 / SCHEDSHARD_SLOW as fast. While the
 * window is open it is the model's time. So a timer of ten microseconds comes after ten
 * microseconds of simulated work of the guest's CPUs, however long that takes on the host. After
 * the window the guest's time advances with the host's clock again.
 *
 * The plugin and this library are loaded separately. So the functions are weak, and missing if the
 * library was not preloaded.
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
 * guest_clock_follow - from now on, the time is the present one plus *@ps
 * @ps: picoseconds, not decreasing; read by any thread until guest_clock_leave()
 *
 * Return: 0, or -1 with errno set and nothing changed: the host has no descriptor left.
 */
GUEST_CLOCK_API int guest_clock_follow(const uint64_t *ps);

/**
 * guest_clock_due - the time of the emulator's next timer
 *
 * Return: a pointer to that time, in the picoseconds of guest_clock_follow(). It is
 * GUEST_CLOCK_NEVER unless the main loop, which writes it, waits for a timer. Any thread reads it.
 */
GUEST_CLOCK_API const uint64_t *guest_clock_due(void);

/** guest_clock_leave - the host's clock takes over. */
GUEST_CLOCK_API void guest_clock_leave(void);

/**
 * guest_clock_thread - the time stamp counter of this thread follows the guest's time.
 *
 * The guest's time is the host's until guest_clock_follow(). From then on the counter continues at
 * the same rate, relative to the slow clock. A thread must call guest_clock_thread() before
 * guest_clock_follow(), or it still reads the host's counter.
 *
 * Return: 0, or -1 with errno set: the host cannot give a thread another counter.
 */
GUEST_CLOCK_API int guest_clock_thread(void);

/**
 * guest_clock_alarm - the next timer is due: make the main loop check its timers.
 *
 * Returns when the main loop has done so, or after a few milliseconds: it may wait for a thread
 * that waits for the caller.
 */
GUEST_CLOCK_API void guest_clock_alarm(void);

#endif
