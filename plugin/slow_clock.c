// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * libschedshard-slow-clock.so: preloaded into the emulator, it makes the monotonic clock run at a fraction
 * of its speed: 1 / SCHEDSHARD_SLOW. Timers of the guest then come that much later, and a guest whose CPUs are
 * slow, since they are many and kept in step, is not drowned in its own ticks.
 *
 * Why it is enough to change what clock_gettime() says: the emulator takes the guest's time from
 * that clock alone, and sleeps with relative time-outs, after which it looks at the clock again; too
 * short a sleep is only a look too many. The time stamp counter of the guest is the host's, at full speed; the
 * guest is told that its frequency is SCHEDSHARD_SLOW times as high, which comes to the same.
 *
 * Ordering, concurrency: any thread; the first call fixes when slow time begins.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECOND 1000000000ull

static uint64_t begun, factor;

static uint64_t real(void)
{
	struct timespec time;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("SCHEDSHARD_SLOW");
	unsigned long long value = text ? strtoull(text, NULL, 10) : 1;

	begun = real();
	factor = value ? value : 1;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time)
{
	uint64_t now;

	if (clock != CLOCK_MONOTONIC || factor <= 1)
		return (int)syscall(SYS_clock_gettime, clock, time);
	now = begun + (real() - begun) / factor;
	time->tv_sec = (time_t)(now / SECOND);
	time->tv_nsec = (long)(now % SECOND);
	return 0;
}
