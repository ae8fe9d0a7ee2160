// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * What waits for the world: the usual calls that read. Where nothing is there yet, the thread looks
 * again after LOOK_AGAIN of the machine's time, so that the program's other threads run meanwhile.
 * A pipe between two threads of the program repeats; what comes from outside does not, and is
 * counted. While the program has nothing else to do, looking costs the host a nap each time.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "exact.h"
#include "real.h"

#define LOOK_AGAIN 20000000ull /* ps */
#define NAP_NS	   20000
#define LOOKS	   64u

bool outside_stuck(void)
{
	result_deadlock();
}

static int look(struct pollfd *fds, nfds_t n)
{
	return REAL(int, poll, (struct pollfd *, nfds_t, int))(fds, n, 0);
}

/* Nothing was there: others have their turn. */
static void look_later(uint32_t looked)
{
	const struct timespec nap = { 0, NAP_NS };

	if (looked == 1)
		exact.waited_outside++;
	if (looked > LOOKS)
		REAL(int, nanosleep, (const struct timespec *, struct timespec *))(&nap, NULL);
	futex_sleep(sched_time() + LOOK_AGAIN, "a call that waits for the world");
}

static void wait_to_read(int file)
{
	struct pollfd p = { .fd = file, .events = POLLIN };
	uint32_t looked = 0;
	int before = errno;

	sched_work(EXACT_CALL);
	if (!(fcntl(file, F_GETFL) & O_NONBLOCK))
		while (!look(&p, 1))
			look_later(++looked);
	errno = before;
}

API ssize_t read(int file, void *into, size_t size)
{
	if (exact_on())
		wait_to_read(file);
	return REAL(ssize_t, read, (int, void *, size_t))(file, into, size);
}

API ssize_t recv(int file, void *into, size_t size, int flags)
{
	if (exact_on() && !(flags & MSG_DONTWAIT))
		wait_to_read(file);
	return REAL(ssize_t, recv, (int, void *, size_t, int))(file, into, size, flags);
}

API int accept(int file, struct sockaddr *restrict from, socklen_t *restrict size)
{
	if (exact_on())
		wait_to_read(file);
	return REAL(int, accept, (int, struct sockaddr *, socklen_t *))(file, from, size);
}

/* When a wait of so many milliseconds ends; negative: never. */
static uint64_t until(int ms)
{
	return ms < 0 ? EXACT_EVER : sched_time() + (uint64_t)ms * 1000000000ull;
}

API int poll(struct pollfd *fds, nfds_t n, int ms)
{
	uint64_t end;
	uint32_t looked = 0;
	int found;

	if (!exact_on())
		return REAL(int, poll, (struct pollfd *, nfds_t, int))(fds, n, ms);
	end = until(ms);
	sched_work(EXACT_CALL);
	while (!(found = look(fds, n)) && sched_time() < end)
		look_later(++looked);
	return found;
}

API int epoll_wait(int file, struct epoll_event *events, int most, int ms)
{
	uint64_t end;
	uint32_t looked = 0;
	int found;

	if (!exact_on())
		return REAL(int, epoll_wait, (int, struct epoll_event *, int, int))(file, events,
										    most, ms);
	end = until(ms);
	sched_work(EXACT_CALL);
	while (!(found = REAL(int, epoll_wait, (int, struct epoll_event *, int, int))(file, events,
										      most, 0)) &&
	       sched_time() < end)
		look_later(++looked);
	return found;
}
