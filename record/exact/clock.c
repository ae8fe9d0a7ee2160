// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * All clocks show the machine's time on the calling CPU, and begin at a fixed time. The wall clock
 * begins with the year 2026. The clock of the process is the busy time of all CPUs. The clock of a
 * thread advances like the monotonic clock, also while the thread waits. A sleep ends by the
 * machine's time.
 */
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>

#include "lines.h"
#include "pass.h"
#include "sync.h"

#define NS	  1000ull /* picoseconds */
#define SECOND	  (1000000000ull * NS)
#define WALL	  1767225600ull /* seconds */
#define MONOTONIC 1000ull

uint64_t clock_begins(clockid_t clock)
{
	if (clock < 0)
		return 0; /* from pthread_getcpuclockid() */
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
	if (clock == CLOCK_PROCESS_CPUTIME_ID) {
		uint64_t until = span(ts), busy = sched_busy();

		return until == EXACT_EVER ? until
					   : sched_time() + (until > busy ? until - busy : 0);
	}
	/* Picoseconds since 1970 do not fit 64 bits. */
	left = (struct timespec){ ts->tv_sec - (time_t)clock_begins(clock), ts->tv_nsec };
	return span(&left);
}

static struct timespec now(clockid_t clock)
{
	uint64_t ps = clock == CLOCK_PROCESS_CPUTIME_ID ? sched_busy() : sched_time();

	sched_work(30);
	return (struct timespec){ (time_t)(clock_begins(clock) + ps / SECOND),
				  (long)(ps % SECOND / NS) };
}

API int clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (!exact_on())
		return REAL(clock_gettime)(clock, ts);
	*ts = now(clock);
	lines_plain(ts, sizeof(*ts), true, HERE);
	return 0;
}

API int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;

	if (!exact_on())
		return REAL(gettimeofday)(tv, zone);
	ts = now(CLOCK_REALTIME);
	*tv = (struct timeval){ ts.tv_sec, ts.tv_nsec / 1000 };
	return 0;
}

API time_t time(time_t *into)
{
	time_t t;

	if (!exact_on())
		return REAL(time)(into);
	t = now(CLOCK_REALTIME).tv_sec;
	if (into)
		*into = t;
	return t;
}

API int timespec_get(struct timespec *ts, int base)
{
	if (!exact_on() || base != TIME_UTC)
		return REAL(timespec_get)(ts, base);
	*ts = now(CLOCK_REALTIME);
	return base;
}

API clock_t clock(void)
{
	if (!exact_on())
		return REAL(clock)();
	return (clock_t)(sched_busy() / (1000 * NS));
}

API clock_t times(struct tms *into)
{
	const uint64_t tick = SECOND / (uint64_t)sysconf(_SC_CLK_TCK);

	if (!exact_on())
		return REAL(times)(into);
	if (into)
		*into = (struct tms){ .tms_utime = (clock_t)(sched_busy() / tick) };
	return (clock_t)(sched_time() / tick);
}

/* All figures but the times are the host's, so the memory includes the model's. */
API int getrusage(__rusage_who_t who, struct rusage *into)
{
	uint64_t ps;

	if (!exact_on() || who == RUSAGE_CHILDREN)
		return REAL(getrusage)(who, into);
	if (PASS(REAL(getrusage)(who, into)))
		return -1;
	ps = who == RUSAGE_SELF ? sched_busy() : sched_time();
	into->ru_utime =
		(struct timeval){ (time_t)(ps / SECOND), (long)(ps % SECOND / (1000 * NS)) };
	into->ru_stime = (struct timeval){ 0 };
	return 0;
}

/* ---- sleeps ---- */

/* Return: the time that was left when a handler ran; 0 if none did. */
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
		return REAL(nanosleep)(ts, left);
	return said(slept(rest(span(ts)), left));
}

API int clock_nanosleep(clockid_t clock, int flags, const struct timespec *ts,
			struct timespec *left)
{
	if (!exact_on())
		return REAL(clock_nanosleep)(clock, flags, ts, left);
	if (flags & TIMER_ABSTIME)
		return slept(rest_until(clock_until(clock, ts)), NULL);
	return slept(rest(span(ts)), left);
}

API int usleep(useconds_t us)
{
	if (!exact_on())
		return REAL(usleep)(us);
	return said(slept(rest(us * 1000 * NS), NULL));
}

API unsigned int sleep(unsigned int seconds)
{
	if (!exact_on())
		return REAL(sleep)(seconds);
	return (unsigned int)((rest(seconds * SECOND) + SECOND - 1) / SECOND);
}
