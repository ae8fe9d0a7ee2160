// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Time is the machine's: all clocks begin at a fixed time, the wall's at the beginning of 2026, and
 * advance with the CPU that asks. A sleep ends when the machine's time has come.
 */
#include <sys/time.h>
#include <unistd.h>

#include "lines.h"
#include "sync.h"

#define NS	  1000ull /* picoseconds */
#define SECOND	  (1000000000ull * NS)
#define WALL	  1767225600ull /* seconds */
#define MONOTONIC 1000ull

uint64_t clock_begins(clockid_t clock)
{
	if (clock < 0)
		return 0; /* of pthread_getcpuclockid() */
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_TAI:
		return WALL;
	case CLOCK_PROCESS_CPUTIME_ID:
	case CLOCK_THREAD_CPUTIME_ID:
		return 0;
	default:
		return MONOTONIC;
	}
}

static uint64_t span(const struct timespec *ts)
{
	if (ts->tv_sec < 0)
		return 0;
	if ((uint64_t)ts->tv_sec > EXACT_EVER / SECOND - 1)
		return EXACT_EVER;
	return (uint64_t)ts->tv_sec * SECOND + (uint64_t)ts->tv_nsec * NS;
}

uint64_t clock_until(clockid_t clock, const struct timespec *ts)
{
	struct timespec left;

	if (!ts)
		return EXACT_EVER;
	/* Picoseconds since 1970 do not fit 64 bits. */
	left = (struct timespec){ ts->tv_sec - (time_t)clock_begins(clock), ts->tv_nsec };
	return span(&left);
}

static struct timespec now(clockid_t clock)
{
	uint64_t ps = sched_time();

	sched_work(30);
	return (struct timespec){ (time_t)(clock_begins(clock) + ps / SECOND),
				  (long)(ps % SECOND / NS) };
}

API int clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (!exact_on())
		return REAL(int, clock_gettime, (clockid_t, struct timespec *))(clock, ts);
	*ts = now(clock);
	lines_plain(ts, sizeof(*ts), true, HERE);
	return 0;
}

API int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;

	if (!exact_on())
		return REAL(int, gettimeofday, (struct timeval *, void *))(tv, zone);
	ts = now(CLOCK_REALTIME);
	*tv = (struct timeval){ ts.tv_sec, ts.tv_nsec / 1000 };
	return 0;
}

API time_t time(time_t *into)
{
	time_t t;

	if (!exact_on())
		return REAL(time_t, time, (time_t *))(into);
	t = now(CLOCK_REALTIME).tv_sec;
	if (into)
		*into = t;
	return t;
}

API int timespec_get(struct timespec *ts, int base)
{
	if (!exact_on() || base != TIME_UTC)
		return REAL(int, timespec_get, (struct timespec *, int))(ts, base);
	*ts = now(CLOCK_REALTIME);
	return base;
}

API clock_t clock(void)
{
	if (!exact_on())
		return REAL(clock_t, clock, (void))();
	return (clock_t)(sched_time() / (1000 * NS));
}

/* ---- sleeps ---- */

/* Return: what was left when a handler ran. */
static uint64_t rest_until(uint64_t end)
{
	uint32_t handled = exact_self->handled;

	do
		futex_sleep(end, "a sleep");
	while (exact_self->handled == handled && sched_time() < end);
	return sched_time() < end ? end - sched_time() : 0;
}

static uint64_t rest(uint64_t ps)
{
	uint64_t begin = sched_time();

	return rest_until(ps > EXACT_EVER - begin ? EXACT_EVER : begin + ps);
}

static int slept(uint64_t left, struct timespec *into)
{
	if (left && into)
		*into = (struct timespec){ (time_t)(left / SECOND), (long)(left % SECOND / NS) };
	return left ? EINTR : 0;
}

static int said(int error)
{
	if (error)
		errno = error;
	return error ? -1 : 0;
}

API int nanosleep(const struct timespec *ts, struct timespec *left)
{
	if (!exact_on())
		return REAL(int, nanosleep, (const struct timespec *, struct timespec *))(ts, left);
	return said(slept(rest(span(ts)), left));
}

API int clock_nanosleep(clockid_t clock, int flags, const struct timespec *ts,
			struct timespec *left)
{
	if (!exact_on())
		return REAL(int, clock_nanosleep,
			    (clockid_t, int, const struct timespec *, struct timespec *))(
			clock, flags, ts, left);
	if (flags & TIMER_ABSTIME)
		return slept(rest_until(clock_until(clock, ts)), NULL);
	return slept(rest(span(ts)), left);
}

API int usleep(useconds_t us)
{
	if (!exact_on())
		return REAL(int, usleep, (useconds_t))(us);
	return said(slept(rest(us * 1000 * NS), NULL));
}

API unsigned int sleep(unsigned int seconds)
{
	if (!exact_on())
		return REAL(unsigned int, sleep, (unsigned int))(seconds);
	return (unsigned int)((rest(seconds * SECOND) + SECOND - 1) / SECOND);
}
