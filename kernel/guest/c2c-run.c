// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * c2c-run MADE LENGTH PROGRAM [ARGUMENT...]: runs the program and opens the measured window. The
 * window opens when MADE processes and threads have been created since the start and the machine is
 * busy (BUSY). By then the program has started its threads, and they work. With MADE 0 the window
 * opens at once. The window closes LENGTH microseconds later or, if LENGTH is 0, when the program
 * ends. If the program ends before the window opens, the window is empty.
 *
 * c2c-run has the highest priority, so it opens the window in time on a machine however busy.
 *
 * Exit status: that of the program; 126 if it was killed, 127 if it cannot be run.
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

#define CHECK	   "/sys/kernel/debug/schedshard/check"
#define KMSG	   "/dev/kmsg"
#define RT_RUNTIME "/proc/sys/kernel/sched_rt_runtime_us"
#define POLL_US	   20000
/*
 * The machine is busy if in each of STEADY consecutive poll intervals there were at least BUSY
 * context switches per CPU. Without this condition, windows opened while all new threads still
 * slept, as stress-ng's RT children do for a while. The host's time is shared by the guest's CPUs,
 * so beyond CPUS_PER_POLL CPUs the intervals are longer.
 */
#define BUSY	      8
#define STEADY	      3
#define CPUS_PER_POLL 64
#define POLLS	      100 /* then the window opens anyway, with a message */

/* Write to a file of the kernel, if it exists. */
static void write_value(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, value, strlen(value)) < 0)
		fprintf(stderr, "c2c-run: cannot write %s to %s: %s\n", value, path,
			strerror(errno));
	close(fd);
}

/* Read a file of the kernel, without the end of the line; "" when there is none. */
static void read_value(const char *path, char *value, size_t size)
{
	FILE *file = fopen(path, "re");

	if (!file || !fgets(value, (int)size, file))
		value[0] = '\0';
	value[strcspn(value, "\n")] = '\0';
	if (file)
		fclose(file);
}

/*
 * Read a count: "processes" (with threads) or "ctxt" (context switches) since the boot, or the
 * current "procs_running".
 */
static unsigned long long counted(const char *what)
{
	unsigned long long n = 0;
	size_t length = strlen(what);
	char line[256];
	FILE *file = fopen("/proc/stat", "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, what, length) && line[length] == ' ') {
			n = strtoull(line + length, NULL, 10);
			break;
		}
	}
	if (file)
		fclose(file);
	return n;
}

/* Wait for the program to end, at most @us microseconds; 0: it has ended. */
static int wait_for(sigset_t *child, pid_t pid, int *status, long us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	if (waitpid(pid, status, WNOHANG) == pid)
		return 0;
	if (!us)
		return 1;
	/* There are no other children, so the signal says that this one has ended. */
	sigtimedwait(child, NULL, &time);
	return waitpid(pid, status, WNOHANG) != pid;
}

/* Wait until the machine is busy; 0: the program has ended. */
static int wait_until_busy(sigset_t *child, pid_t pid, int *status)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	long poll_us = POLL_US * (cpus / CPUS_PER_POLL + !!(cpus % CPUS_PER_POLL));
	unsigned long long enough = BUSY * (unsigned long long)cpus;
	unsigned long long switches = 0;
	char text[128];
	int steady = 0;

	for (int i = 0; i < POLLS && steady < STEADY; i++) {
		unsigned long long before = counted("ctxt");

		if (!wait_for(child, pid, status, poll_us))
			return 0;
		switches = counted("ctxt") - before;
		steady = switches >= enough ? steady + 1 : 0;
	}
	if (steady < STEADY) {
		/*
		 * Use the kernel log: the reader of this program's output may run only at the end.
		 */
		snprintf(text, sizeof(text),
			 "# c2c-run: not busy when the window opens: %llu switches in %ld ms, "
			 "%llu tasks running\n",
			 switches, poll_us / 1000, counted("procs_running"));
		write_value(KMSG, text);
	}
	return 1;
}

/* Start the program, and become the task of the highest priority; its number, or -1. */
static pid_t start(char **argv, sigset_t *child)
{
	struct sched_param highest = { .sched_priority = sched_get_priority_max(SCHED_FIFO) };
	pid_t pid;

	sigemptyset(child);
	sigaddset(child, SIGCHLD);
	sigprocmask(SIG_BLOCK, child, NULL);
	pid = fork();
	if (!pid) {
		sigprocmask(SIG_UNBLOCK, child, NULL);
		execvp(argv[0], argv);
		fprintf(stderr, "c2c-run: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || sched_setscheduler(0, SCHED_FIFO, &highest) < 0) {
		fprintf(stderr, "c2c-run: %s\n", strerror(errno));
		return -1;
	}
	return pid;
}

int main(int argc, char **argv)
{
	unsigned long long wanted, before;
	char rt_runtime[32];
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
	/* The measured kernel does not check its sharded state at every change. */
	write_value(CHECK, "0");
	/*
	 * Until the window opens, all CPUs are slow relative to the guest's clock. So RT tasks seem
	 * to use up their share of each second. In one run the window fell into the rest of a
	 * second, in which RT tasks are throttled.
	 */
	read_value(RT_RUNTIME, rt_runtime, sizeof(rt_runtime));
	write_value(RT_RUNTIME, "-1");
	if (!wanted) {
		c2c_prepare();
		usleep(C2C_PREPARE_US);
	}
	before = counted("processes");
	pid = start(argv + 3, &child);
	if (pid < 0)
		return 127;
	while (running && counted("processes") - before < wanted)
		running = wait_for(&child, pid, &status, POLL_US);
	if (running && wanted)
		running = wait_until_busy(&child, pid, &status);
	if (running && wanted) {
		c2c_prepare();
		running = wait_for(&child, pid, &status, C2C_PREPARE_US);
	}
	write_value(RT_RUNTIME, rt_runtime);
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
