// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * c2c-run MADE LENGTH PROGRAM [ARGUMENT...]: runs the program, and opens the measured window when so many
 * processes and threads have been made since, that is, when the program has started what it starts; 0: at
 * once. The window closes LENGTH milliseconds later or, when that is 0, when the program ends. A
 * program that ends earlier ends the window; one that ends before it opens has an empty one.
 *
 * The window is opened by a task of the highest priority, so that it opens in time however busy the
 * machine is.
 *
 * Exit status: that of the program; 126 when it was killed, 127 when it cannot be run.
 */
#define _GNU_SOURCE
#include "c2c-mark.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS 20

/*
 * A kernel that checks its sharded state at every change is told not to: it is not what is measured.
 * One without the check has no such file.
 */
static void stop_checks(void)
{
	int fd = open("/sys/kernel/debug/schedshard/check", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "0", 1) != 1)
		fprintf(stderr, "c2c-run: the kernel goes on checking: %s\n", strerror(errno));
	close(fd);
}

/* How many processes and threads were made since the boot. */
static unsigned long long made(void)
{
	unsigned long long n = 0;
	char line[256];
	FILE *file = fopen("/proc/stat", "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "processes %llu", &n) == 1)
			break;
	if (file)
		fclose(file);
	return n;
}

/* Wait for the program to end, at most so many milliseconds; 0: it has ended. */
static int wait_for(sigset_t *child, pid_t pid, int *status, long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	if (waitpid(pid, status, WNOHANG) == pid)
		return 0;
	if (!ms)
		return 1;
	/* Other children do not exist, so that the signal says that this one has ended. */
	sigtimedwait(child, NULL, &time);
	return waitpid(pid, status, WNOHANG) != pid;
}

int main(int argc, char **argv)
{
	struct sched_param highest = { .sched_priority = sched_get_priority_max(SCHED_FIFO) };
	unsigned long long wanted, before;
	long length;
	sigset_t child;
	int status = 0, running = 1;
	pid_t pid;

	if (argc < 4) {
		fprintf(stderr, "usage: c2c-run MADE LENGTH PROGRAM [ARGUMENT...]\n");
		return 127;
	}
	wanted = strtoull(argv[1], NULL, 10);
	length = strtol(argv[2], NULL, 10);
	stop_checks();
	before = made();
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	pid = fork();
	if (!pid) {
		sigprocmask(SIG_UNBLOCK, &child, NULL);
		execvp(argv[3], argv + 3);
		fprintf(stderr, "c2c-run: %s: %s\n", argv[3], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || sched_setscheduler(0, SCHED_FIFO, &highest) < 0) {
		fprintf(stderr, "c2c-run: %s\n", strerror(errno));
		return 127;
	}
	while (running && made() - before < wanted)
		running = wait_for(&child, pid, &status, POLL_MS);
	c2c_open();
	if (running && length)
		running = wait_for(&child, pid, &status, length);
	if (running && !length)
		running = waitpid(pid, &status, 0) != pid;
	c2c_close();
	if (running)
		waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
