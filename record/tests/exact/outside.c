// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * outside KIND: the first thread waits in a system call for what another thread does later. If the
 * call stopped all threads, the program would hang.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "helping.h"

static int file, more[3];
static char much[MUCH];

static void *puts_byte(void *arg)
{
	usleep(50000);
	need(write(ends[1], "x", 1) == 1);
	return arg;
}

static void *unlocks(void *arg)
{
	usleep(500);
	need(!flock(file, LOCK_UN));
	return arg;
}

static void *accepts(void *arg)
{
	usleep(500);
	for (int i = 0; i < 3; i++)
		need((more[i] = accept(file, NULL, NULL)) >= 0);
	return arg;
}

static void selects(void)
{
	pthread_t made = start(puts_byte, NULL);
	struct timeval little = { 0, 200 };
	fd_set in;
	int early;

	FD_ZERO(&in);
	FD_SET(ends[0], &in);
	early = select(ends[0] + 1, &in, NULL, NULL, &little);
	FD_SET(ends[0], &in);
	printf("%d %d", early, select(ends[0] + 1, &in, NULL, NULL, NULL));
	printf(" %d\n", FD_ISSET(ends[0], &in) != 0);
	pthread_join(made, NULL);
}

static void receives(void)
{
	struct timeval limit = { 0, 200 };
	struct iovec part = { got, 8 };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	pthread_t made = start(puts_byte, NULL);
	int early;

	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	early = recvmsg(ends[0], &m, 0) == -1 && errno == EAGAIN;
	limit.tv_usec = 0;
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	printf("%d %zd", early, recvmsg(ends[0], &m, 0));
	printf(" %c\n", got[0]);
	pthread_join(made, NULL);
}

static void writes(void)
{
	pthread_t reader = start(takes_all, NULL);
	struct iovec part[2] = { { much, 100000 }, { much + 100000, MUCH - 100000 } };

	memset(much, 'a', MUCH);
	much[123456] = 'b';
	much[299999] = 'c';
	printf("%zd", writev(ends[1], part, 2));
	pthread_join(reader, NULL);
	printf(" %d\n", !memcmp(much, got, MUCH));
}

static void locks(void)
{
	char name[] = "/tmp/outside-XXXXXX";
	pthread_t made;
	int second;

	file = mkstemp(name);
	second = open(name, O_RDWR);
	need(file >= 0 && second >= 0 && !unlink(name) && !flock(file, LOCK_EX));
	made = start(unlocks, NULL);
	printf("%d\n", flock(second, LOCK_EX));
	pthread_join(made, NULL);
}

/* A backlog of one accepts two connections: the third one has to wait. */
static void connects(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(at);
	pthread_t made;
	int to[3];

	file = socket(AF_UNIX, SOCK_STREAM, 0);
	need(!bind(file, (struct sockaddr *)&at, sizeof(sa_family_t)) && !listen(file, 1));
	need(!getsockname(file, (struct sockaddr *)&at, &size));
	made = start(accepts, NULL);
	for (int i = 0; i < 3; i++) {
		to[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		printf("%d ", connect(to[i], (struct sockaddr *)&at, size));
	}
	pthread_join(made, NULL);
	puts("");
}

static void waits(void)
{
	int status = 0;
	pid_t child = fork();
	pthread_t made;
	char byte;

	if (!child)
		_exit(read(ends[0], &byte, 1) == 1 ? 7 : 1);
	made = start(puts_byte, NULL);
	need(waitpid(child, &status, 0) == child);
	printf("%d\n", WEXITSTATUS(status));
	pthread_join(made, NULL);
}

static void *puts_later(void *lock)
{
	pthread_mutex_lock(lock);
	return puts_byte(lock);
}

/* The byte never comes, because this thread holds the lock that the other one needs. */
static void is_stuck(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	start(puts_later, &lock);
	need(read(ends[0], got, 1) == 1);
}

int main(int argc, char **argv)
{
	static const struct kind kinds[] = {
		{ "select", selects },	   { "socket-receive", receives },
		{ "socket-full", writes }, { "pipe-full", writes },
		{ "lock", locks },	   { "connect", connects },
		{ "child", waits },	   { "stuck", is_stuck },
	};
	int sockets = argc > 1 && !strncmp(argv[1], "socket", 6);

	need(!(sockets ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends)));
	return RUN_KIND(kinds, argv[1]) ? 0 : 2;
}
