// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Calls that write wait until the other side takes the data, such as the reader of a full pipe; so
 * does connect(). A pipe with room takes PIPE_BUF bytes at once, so longer data is written in parts
 * of that size. A socket takes what it can (MSG_DONTWAIT).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "pass.h"
#include "exact.h"
#include "outside.h"
#include "real.h"

enum kind { PLAIN, PIPE, SOCKET };

static enum kind kind_of(int file)
{
	int before = errno;
	enum kind kind = PLAIN;
	struct stat s;

	if (outside_blocks(file) && !fstat(file, &s))
		kind = S_ISFIFO(s.st_mode) ? PIPE : S_ISSOCK(s.st_mode) ? SOCKET : PLAIN;
	errno = before;
	outside_call();
	return kind;
}

static ssize_t real_write(int file, const void *from, size_t size)
{
	return PASS(REAL(write)(file, from, size));
}

static ssize_t into_pipe(int file, const char *from, size_t size)
{
	size_t done = 0;
	ssize_t n;

	do {
		size_t part = size - done < PIPE_BUF ? size - done : PIPE_BUF;

		if (!outside_wait(file, POLLOUT))
			return done ? (ssize_t)done : -1;
		n = real_write(file, from + done, part);
		if (n < 0)
			return done ? (ssize_t)done : -1;
		done += (size_t)n;
	} while (done < size);
	return (ssize_t)done;
}

static size_t sum_of(const struct iovec *part, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += part[i].iov_len;
	return sum;
}

/* Wait for room, then send as much as fits. */
static ssize_t send_some(int file, const struct msghdr *what, int flags)
{
	ssize_t n;

	for (;;) {
		n = PASS(REAL(sendmsg)(file, what, flags | MSG_DONTWAIT));
		if (n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
			return n;
		if (!outside_wait(file, POLLOUT))
			return -1;
	}
}

/* Send the whole message. Its address and control data go with the first part only. */
static ssize_t send_all(int file, const struct msghdr *what, int flags)
{
	size_t all = sum_of(what->msg_iov, what->msg_iovlen), done, skip;
	ssize_t n = send_some(file, what, flags);

	if (n < 0)
		return n;
	done = skip = (size_t)n;
	for (size_t i = 0; i < what->msg_iovlen && done < all; i++) {
		struct iovec left = what->msg_iov[i];
		struct msghdr rest = { .msg_iov = &left, .msg_iovlen = 1 };

		for (;;) {
			size_t gone = skip < left.iov_len ? skip : left.iov_len;

			left.iov_base = (char *)left.iov_base + gone;
			left.iov_len -= gone;
			skip -= gone;
			if (!left.iov_len)
				break;
			n = send_some(file, &rest, flags);
			if (n < 0)
				return (ssize_t)done;
			skip = (size_t)n;
			done += skip;
		}
	}
	return (ssize_t)done;
}

API ssize_t writev(int file, const struct iovec *part, int n)
{
	struct msghdr m = { .msg_iov = (struct iovec *)(uintptr_t)part, .msg_iovlen = (size_t)n };
	enum kind kind = outside_enter() && n > 0 && n <= IOV_MAX ? kind_of(file) : PLAIN;
	ssize_t done = 0, now;

	if (kind == SOCKET)
		return send_all(file, &m, 0);
	if (kind == PIPE && sum_of(part, (size_t)n) > PIPE_BUF) {
		for (int i = 0; i < n; i++) {
			if (!part[i].iov_len)
				continue;
			now = into_pipe(file, part[i].iov_base, part[i].iov_len);
			if (now < 0)
				return done ? done : -1;
			done += now;
			if ((size_t)now < part[i].iov_len)
				break;
		}
		return done;
	}
	if (kind == PIPE && !outside_wait(file, POLLOUT))
		return -1;
	return PASS(REAL(writev)(file, part, n));
}

API ssize_t write(int file, const void *from, size_t size)
{
	struct iovec part = { (void *)(uintptr_t)from, size };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	switch (outside_enter() ? kind_of(file) : PLAIN) {
	case PIPE:
		return into_pipe(file, from, size);
	case SOCKET:
		return send_all(file, &m, 0);
	default:
		return real_write(file, from, size);
	}
}

API ssize_t sendmsg(int file, const struct msghdr *what, int flags)
{
	if (outside_enter() && !(flags & MSG_DONTWAIT) && kind_of(file) == SOCKET)
		return send_all(file, what, flags);
	return PASS(REAL(sendmsg)(file, what, flags));
}

API ssize_t sendto(int file, const void *from, size_t size, int flags, const struct sockaddr *to,
		   socklen_t length)
{
	struct iovec part = { (void *)(uintptr_t)from, size };
	struct msghdr m = { .msg_name = (void *)(uintptr_t)to,
			    .msg_namelen = length,
			    .msg_iov = &part,
			    .msg_iovlen = 1 };

	if (outside_enter())
		return sendmsg(file, &m, flags);
	return PASS(REAL(sendto)(file, from, size, flags, to, length));
}

API ssize_t send(int file, const void *from, size_t size, int flags)
{
	return sendto(file, from, size, flags, NULL, 0);
}

/* ---- connect(): the socket does not block while it tries ---- */

static int attempt(int file, const struct sockaddr *to, socklen_t size)
{
	int (*set)(int, int, ...) = REAL(fcntl);
	int flags = set(file, F_GETFL), result, error;

	set(file, F_SETFL, flags | O_NONBLOCK);
	result = PASS(REAL(connect)(file, to, size));
	error = errno;
	set(file, F_SETFL, flags);
	errno = error;
	return result;
}

API int connect(int file, const struct sockaddr *to, socklen_t size)
{
	socklen_t length = sizeof(int);
	struct outside call = outside_begin(false);
	int error = 0;

	if (!outside_enter() || kind_of(file) != SOCKET)
		return PASS(REAL(connect)(file, to, size));
	/* A Unix socket reports EAGAIN while the other side's queue is full. */
	while (attempt(file, to, size)) {
		if (errno == EAGAIN) {
			if (!outside_again(&call))
				return -1;
			continue;
		}
		if (errno != EINPROGRESS)
			return -1;
		if (!outside_wait(file, POLLOUT)) {
			if (errno == EAGAIN)
				errno = EINPROGRESS;
			return -1;
		}
		if (PASS(getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &length)))
			return -1;
		errno = error;
		return error ? -1 : 0;
	}
	return 0;
}
