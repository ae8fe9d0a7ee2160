// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* within KIND: like outside.c, but the first thread waits inside the C library, or in syscall(). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helping.h"

static int queue;
static char folder[] = "/tmp/within-XXXXXX", name[64];
static FILE *file;

static void *puts_lines(void *arg)
{
	for (int i = 0; i < 3; i++) {
		usleep(500);
		need(write(ends[1], i == 1 ? "two\n" : "12", i == 1 ? 4 : 2) > 0);
	}
	close(ends[1]);
	return arg;
}

/* The first thread holds the file's lock while it waits. */
static void *reads_as_well(void *arg)
{
	pthread_t writer;

	usleep(500);
	writer = start(puts_lines, NULL);
	need(fgetc(file) == '2');
	pthread_join(writer, NULL);
	return arg;
}

static void *signals(void *arg)
{
	usleep(200000);
	kill(getpid(), SIGUSR1);
	return arg;
}

static void *opens(void *arg)
{
	int other;

	usleep(500);
	need((other = open(name, O_WRONLY)) >= 0 && write(other, "x", 1) == 1);
	return arg;
}

static void *sends(void *arg)
{
	struct {
		long type;
		char text[4];
	} message = { 1, "abc" };
	struct sembuf up = { 0, 1, 0 };

	usleep(500);
	need(arg ? !msgsnd(queue, &message, 4, 0) : !semop(queue, &up, 1));
	return arg;
}

static void reads(void)
{
	char line[8];

	start(puts_lines, NULL);
	need(fgets(line, sizeof(line), file) == line && !strcmp(line, "12two\n"));
	printf("%zu %d\n", fread(line, 1, sizeof(line), file), feof(file) != 0);
}

static void prints(void)
{
	pthread_t reader = start(takes_all, NULL);
	long sum = 0;

	file = fdopen(ends[1], "w");
	for (int i = 0; i < MUCH / 3; i++)
		need(fprintf(file, "%03d", i % 1000) == 3);
	need(!fflush(file));
	pthread_join(reader, NULL);
	for (int i = 0; i < MUCH; i++)
		sum += got[i];
	printf("%ld\n", sum);
}

static void asks(void)
{
	char line[8];
	FILE *child;

	snprintf(got, sizeof(got), "read x <&%d; exit ${#x}", ends[0]);
	start(puts_lines, NULL);
	printf("%d ", system(got) >> 8);
	child = popen("sleep 0.01; echo yes", "r");
	printf("%s ", fgets(line, sizeof(line), child) && !strcmp(line, "yes\n") ? "yes" : "no");
	printf("%d\n", pclose(child));
}

static void awaits(void)
{
	struct timespec little = { 0, 100000 };
	siginfo_t info;
	sigset_t set;
	int early;

	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	start(signals, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	early = sigtimedwait(&set, &info, &little) == -1 && errno == EAGAIN;
	printf("%d %d\n", early, sigwaitinfo(&set, &info) == SIGUSR1);
}

static void waits_for(int message)
{
	struct {
		long type;
		char text[4];
	} taken;
	struct sembuf down = { 0, -1, 0 };

	if (message) {
		need((queue = msgget(IPC_PRIVATE, 0600)) >= 0);
		start(sends, &message);
		need(msgrcv(queue, &taken, 4, 0, 0) == 4);
		msgctl(queue, IPC_RMID, NULL);
		puts(taken.text);
	} else {
		need((queue = semget(IPC_PRIVATE, 1, 0600)) >= 0);
		start(sends, NULL);
		printf("%d\n", semop(queue, &down, 1));
		semctl(queue, 0, IPC_RMID);
	}
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	need(!pipe(ends) && (file = fdopen(ends[0], "r")));
	if (!strcmp(kind, "stdio"))
		reads();
	else if (!strcmp(kind, "stdio-lock")) {
		pthread_t other = start(reads_as_well, NULL);

		printf("%c\n", fgetc(file));
		pthread_join(other, NULL);
	} else if (!strcmp(kind, "stdio-full"))
		prints();
	else if (!strcmp(kind, "system"))
		asks();
	else if (!strcmp(kind, "signal"))
		awaits();
	else if (!strcmp(kind, "syscall")) {
		start(puts_lines, NULL);
		printf("%ld\n", syscall(SYS_read, ends[0], got, 1));
	} else if (!strcmp(kind, "named-pipe")) {
		snprintf(name, sizeof(name), "%s/fifo", mkdtemp(folder));
		need(!mkfifo(name, 0600));
		start(opens, NULL);
		printf("%zd\n", read(open(name, O_RDONLY), got, 2));
		unlink(name);
		rmdir(folder);
	} else if (!strcmp(kind, "message") || !strcmp(kind, "semaphore"))
		waits_for(!strcmp(kind, "message"));
	else
		return 2;
	return 0;
}
