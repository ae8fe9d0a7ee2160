// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Calls that read, or that wait for several files, may wait for something outside of the program.
 * If nothing is there yet, the thread looks again after LOOK_AGAIN of the machine's time, and other
 * threads run meanwhile. Calls that had to wait are counted, because input from outside comes at
 * another time in each run. Pipes between threads of the program behave the same each time. While
 * no thread executes anything, the host sleeps between two looks.
 */
#include "outside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "cancel.h"
#include "files.h"
#include "masks.h"
#include "modules.h"
#include "pass.h"
#include "real.h"
#include "timers.h"

#define LOOK_AGAIN 20000000ull /* ps */
#define NAP_NS	   20000
#define LOOKS	   64u
#define PATIENCE   10	   /* seconds of the host */
#define NS	   1000ull /* ps */
#define SECOND	   (1000000000ull * NS)

bool outside_stuck(void)
{
	if (!masks_await(exact.strangers ? futex_look : NULL))
		result_deadlock();
	return true;
}

bool outside_from(const void *pc)
{
	if (modules_hooked(pc))
		exact_self->from = pc;
	return true;
}

void outside_call(void)
{
	sched_cycles(EXACT_CALL);
}

bool outside_blocks(int file)
{
	int flags = PASS(REAL(fcntl)(file, F_GETFL));

	return flags >= 0 && !(flags & O_NONBLOCK);
}

static uint32_t handlers(bool any)
{
	return any ? exact_self->handled : exact_self->broken;
}

struct outside outside_begin(bool any)
{
	return (struct outside){ .handlers = exact_self ? handlers(any) : 0, .any = any };
}

bool outside_ended(const struct outside *call)
{
	if (!exact_self || handlers(call->any) == call->handlers)
		return false;
	errno = EINTR;
	return true;
}

/*
 * Sleep on the host if no thread has executed anything since the last look. Waiting threads share
 * one nap per period.
 */
static void nap_if_idle(bool looked_often)
{
	const struct timespec nap = { 0, NAP_NS };
	static uint64_t executed, napped;
	static time_t since;
	uint64_t now = sched_executed(), time = sched_time();
	bool idle = now == executed && time >= napped + LOOK_AGAIN;
	struct timespec host = { 0 };

	if (now != executed)
		since = 0;
	executed = now;
	if (!idle || !looked_often)
		return;
	PASS(REAL(clock_gettime)(CLOCK_MONOTONIC, &host));
	if (!since)
		since = host.tv_sec;
	if (host.tv_sec > since + PATIENCE)
		result_waits(NULL);
	napped = time;
	PASS(REAL(nanosleep)(&nap, NULL));
}

bool outside_again(struct outside *call)
{
	if (!call->looked++)
		exact.waited_outside++;
	nap_if_idle(call->looked > LOOKS);
	cancel_test();
	exact_self->outside = true;
	futex_sleep(sched_time() + LOOK_AGAIN, "a call that waits for the world");
	exact_self->outside = false;
	return !outside_ended(call);
}

/* When a wait that begins now ends; a negative time: never. */
static uint64_t after(int64_t seconds, int64_t ns)
{
	if (seconds < 0 || ns < 0 || (uint64_t)seconds > EXACT_EVER / SECOND / 2)
		return EXACT_EVER;
	return sched_time() + (uint64_t)seconds * SECOND + (uint64_t)ns * NS;
}

static uint64_t after_ms(int ms)
{
	return ms < 0 ? EXACT_EVER : after(ms / 1000, ms % 1000 * 1000000ll);
}

uint64_t outside_until(const struct timespec *ts)
{
	return ts ? after(ts->tv_sec, ts->tv_nsec) : EXACT_EVER;
}

/* When a call on @file times out by the socket's own limit. */
static uint64_t limit_of(int file, short events)
{
	struct timeval most = { 0 };
	socklen_t size = sizeof(most);

	if (PASS(getsockopt(file, SOL_SOCKET, events & POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO, &most,
			    &size)))
		return EXACT_EVER;
	if (!most.tv_sec && !most.tv_usec)
		return EXACT_EVER;
	return after(most.tv_sec, most.tv_usec * 1000);
}

/* A signal of the kernel does not end the call, but a handler that this thread runs does. */
static int found_now(int found)
{
	return found < 0 && errno == EINTR && masks_on() ? 0 : found;
}

static int look(struct pollfd *fds, nfds_t n)
{
	files_look();
	return found_now(PASS(REAL(poll)(fds, n, 0)));
}

/* A call that waits for several files: until when, and with which signal mask. */
struct several {
	struct outside call;
	bool alone; /* waits for no file: a sleep */
	uint64_t end, before;
	const sigset_t *mask, *told;
};

static struct several begin(bool any, uint64_t end, const sigset_t *mask)
{
	struct several s = { .alone = !any, .end = end, .mask = mask };

	outside_call();
	s.call = outside_begin(true);
	s.told = masks_swap(mask, &s.before);
	return s;
}

/* Return: true if the caller must look again, false if *@found is the call's result. May switch. */
static bool again(struct several *s, int *found)
{
	*found = found_now(*found);
	if (!*found && outside_ended(&s->call))
		*found = -1;
	if (!*found && sched_time() < s->end) {
		uint64_t timer = s->alone ? timers_next(false) : EXACT_EVER;
		uint64_t end = timer < s->end ? timer : s->end;

		/* A handler that runs meanwhile ends the call, if still nothing is there. */
		if (s->alone && end < EXACT_EVER)
			futex_sleep(end, "a sleep");
		else
			outside_again(&s->call);
		return true;
	}
	masks_back(s->mask, s->before);
	return false;
}

bool outside_wait(int file, short events)
{
	struct pollfd p = { .fd = file, .events = events };
	struct outside call = outside_begin(false);
	int before = errno;
	uint64_t end;

	outside_call();
	if (!look(&p, 1)) {
		end = limit_of(file, events);
		do {
			if (sched_time() >= end) {
				errno = EAGAIN;
				return false;
			}
			if (!outside_again(&call))
				return false;
		} while (!look(&p, 1));
	}
	errno = before;
	return true;
}

/* ---- calls that read ---- */

static bool wait_to_read(int file)
{
	if (outside_blocks(file))
		return outside_wait(file, POLLIN);
	outside_call();
	return true;
}

static bool wait_to_receive(int file, int flags)
{
	if (!(flags & MSG_DONTWAIT))
		return wait_to_read(file);
	outside_call();
	return true;
}

static ssize_t read_signals(int file, void *into, size_t size)
{
	struct outside call = outside_begin(false);
	bool waits = outside_blocks(file);
	ssize_t n;

	outside_call();
	while (!(n = files_take(file, into, size, waits)))
		if (!outside_again(&call))
			return -1;
	return n;
}

API ssize_t read(int file, void *into, size_t size)
{
	if (outside_enter() && files_have(file))
		return read_signals(file, into, size);
	if (outside_enter() && !wait_to_read(file))
		return -1;
	return PASS(REAL(read)(file, into, size));
}

API ssize_t readv(int file, const struct iovec *into, int n)
{
	if (outside_enter() && n > 0 && files_have(file))
		return read_signals(file, into->iov_base, into->iov_len);
	if (outside_enter() && !wait_to_read(file))
		return -1;
	return PASS(REAL(readv)(file, into, n));
}

API ssize_t recvfrom(int file, void *restrict into, size_t size, int flags,
		     struct sockaddr *restrict from, socklen_t *restrict length)
{
	char *at = into;
	size_t done = 0;
	ssize_t n;

	if (!outside_enter())
		return PASS(REAL(recvfrom)(file, into, size, flags, from, length));
	/* With MSG_WAITALL the first part would wait for the rest. */
	do {
		if (!wait_to_receive(file, flags))
			return done ? (ssize_t)done : -1;
		n = PASS(REAL(recvfrom)(file, at + done, size - done, flags & ~MSG_WAITALL, from,
					length));
		if (n <= 0)
			return done ? (ssize_t)done : n;
		done += (size_t)n;
	} while (done < size && flags & MSG_WAITALL && !(flags & (MSG_PEEK | MSG_DONTWAIT)));
	return (ssize_t)done;
}

API ssize_t recv(int file, void *into, size_t size, int flags)
{
	return recvfrom(file, into, size, flags, NULL, NULL);
}

API ssize_t recvmsg(int file, struct msghdr *into, int flags)
{
	if (outside_enter() && !wait_to_receive(file, flags))
		return -1;
	return PASS(REAL(recvmsg)(file, into, flags));
}

API int accept(int file, struct sockaddr *restrict from, socklen_t *restrict size)
{
	if (outside_enter() && !wait_to_read(file))
		return -1;
	return PASS(REAL(accept)(file, from, size));
}

API int accept4(int file, struct sockaddr *restrict from, socklen_t *restrict size, int flags)
{
	if (outside_enter() && !wait_to_read(file))
		return -1;
	return PASS(REAL(accept4)(file, from, size, flags));
}

/* ---- calls that wait for several files ---- */

API int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *most, const sigset_t *mask)
{
	const struct timespec now = { 0, 0 };
	struct several s;
	int found;

	if (!outside_enter())
		return PASS(REAL(ppoll)(fds, n, most, mask));
	s = begin(n, outside_until(most), mask);
	do {
		files_look();
		found = PASS(REAL(ppoll)(fds, n, &now, s.told));
	} while (again(&s, &found));
	return found;
}

API int poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec most = { ms / 1000, ms % 1000 * 1000000l };

	if (!outside_enter())
		return PASS(REAL(poll)(fds, n, ms));
	return ppoll(fds, n, ms < 0 ? NULL : &most, NULL);
}

API int pselect(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict bad,
		const struct timespec *restrict most, const sigset_t *restrict mask)
{
	const struct timespec now = { 0, 0 };
	fd_set *given[3] = { in, out, bad }, asked[3];
	struct several s;
	int found;

	if (!outside_enter())
		return PASS(REAL(pselect)(n, in, out, bad, most, mask));
	for (int i = 0; i < 3; i++)
		if (given[i])
			asked[i] = *given[i];
	s = begin(n, outside_until(most), mask);
	do {
		for (int i = 0; i < 3; i++)
			if (given[i])
				*given[i] = asked[i];
		files_look();
		found = PASS(REAL(pselect)(n, in, out, bad, &now, s.told));
	} while (again(&s, &found));
	return found;
}

API int select(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict bad,
	       struct timeval *restrict most)
{
	struct timespec ts;

	if (!outside_enter())
		return PASS(REAL(select)(n, in, out, bad, most));
	if (most)
		ts = (struct timespec){ most->tv_sec, most->tv_usec * 1000 };
	return pselect(n, in, out, bad, most ? &ts : NULL, NULL);
}

API int epoll_pwait(int file, struct epoll_event *events, int most, int ms, const sigset_t *mask)
{
	struct several s;
	int found;

	if (!outside_enter())
		return PASS(REAL(epoll_pwait)(file, events, most, ms, mask));
	s = begin(true, after_ms(ms), mask);
	do {
		files_look();
		found = PASS(REAL(epoll_pwait)(file, events, most, 0, s.told));
	} while (again(&s, &found));
	return found;
}

API int epoll_wait(int file, struct epoll_event *events, int most, int ms)
{
	if (!outside_enter())
		return PASS(REAL(epoll_wait)(file, events, most, ms));
	return epoll_pwait(file, events, most, ms, NULL);
}
