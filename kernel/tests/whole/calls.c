// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * calls dup|stat PROCESSES OPERATIONS: a process on each CPU makes system calls on one object of
 * the kernel. docs/results/whole.md runs it on two kernels.
 *
 *	dup	as UnixBench's syscall test: dup() and close() of one open file, getpid(), getuid(),
 *		umask(); the file is a pipe's end, inherited by all
 *	stat	as will-it-scale's test: stat() of one file on tmpfs, whose name is longer than what
 *		struct dentry keeps in its first line
 *
 * An operation is one round of such calls. Process I stays on CPU I. The window ends when process 0
 * has made its OPERATIONS; the others continue until then, so that nobody waits in the window.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "c2c-mark.h"

#define WARM_UP 16 /* rounds before the window */

static char path[] = "/tmp/willitscale.XXXXXX";
static int file;

static int dup_round(void)
{
	int copy = dup(file);

	if (copy < 0 || close(copy))
		return -1;
	getpid();
	getuid();
	umask(022);
	return 0;
}

static int stat_round(void)
{
	struct stat is;

	return stat(path, &is);
}

static void wait_for(const unsigned int *arrived, unsigned int count)
{
	while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < count)
		;
}

/* Arrive, and wait until @count arrivals were counted in all. */
static void meet(unsigned int *arrived, unsigned int count)
{
	__atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL);
	wait_for(arrived, count);
}

static int stay_on(unsigned int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

static int work(int (*call)(void), unsigned int cpu, unsigned int processes, unsigned long times,
		unsigned int *arrived)
{
	unsigned int *stop = &arrived[64 / sizeof(*arrived)]; /* in a line of its own */
	int failed = 0;

	if (stay_on(cpu))
		return 1;
	if (cpu == 0) {
		c2c_prepare();
		usleep(C2C_PREPARE_US);
	}
	for (int i = 0; i < WARM_UP; i++)
		if (call())
			return 1;
	if (cpu == 0) {
		wait_for(arrived, processes - 1);
		c2c_open(); /* before the others may begin */
	}
	meet(arrived, processes);
	for (unsigned long i = 0; cpu ? !__atomic_load_n(stop, __ATOMIC_RELAXED) : i < times; i++) {
		failed = call();
		if (failed)
			break;
		c2c_operation();
	}
	if (cpu == 0) {
		c2c_close();
		__atomic_store_n(stop, 1, __ATOMIC_RELAXED);
	}
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	int stat = argc == 4 && !strcmp(argv[1], "stat"), status, failed = 0, ends[2];
	unsigned long processes = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	unsigned long times = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	unsigned int *arrived =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if ((!stat && (argc != 4 || strcmp(argv[1], "dup"))) || !processes || processes > 1024 ||
	    !times || arrived == MAP_FAILED) {
		fputs("usage: calls dup|stat PROCESSES OPERATIONS\n", stderr);
		return 2;
	}
	mkdir("/tmp", 0777);
	/* The object is on CPU 0's node in each boot. */
	if (stay_on(0)) {
		perror("calls");
		return 1;
	}
	file = stat ? mkstemp(path) : pipe(ends) ? -1 : ends[0];
	if (file < 0) {
		perror("calls");
		return 1;
	}
	for (unsigned int cpu = 0; cpu < processes; cpu++) {
		pid_t child = fork();

		if (child == 0)
			_exit(work(stat ? stat_round : dup_round, cpu, (unsigned int)processes,
				   times, arrived));
		failed |= child < 0;
	}
	while (!failed && wait(&status) > 0)
		failed |= status;
	if (stat)
		unlink(path);
	return failed ? 1 : 0;
}
