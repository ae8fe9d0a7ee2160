// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Answers system calls with this library's own versions of the C library's functions. The program's
 * pointers may be invalid, so this file lets the kernel copy the data, and returns its EFAULT.
 */
#include "asks.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "exact.h"
#include "pass.h"

#define NAME 16 /* bytes of a thread's name, with the last 0 */

static long copied(bool in, void *own, void *theirs, size_t size)
{
	struct iovec here = { own, size }, there = { theirs, size };
	long moved;

	moved = in ? PASS(process_vm_readv(exact.pid, &here, 1, &there, 1, 0))
		   : PASS(process_vm_writev(exact.pid, &here, 1, &there, 1, 0));
	return moved == (long)size ? 0 : -EFAULT;
}

static long get_time(clockid_t clock, void *to)
{
	struct timespec now;

	if (KERNEL(SYS_clock_getres, clock, NULL) || clock_gettime(clock, &now))
		return -errno;
	return copied(false, &now, to, sizeof(now));
}

static long get_cpu(void *to_cpu, void *to_node)
{
	unsigned int cpu, node;

	getcpu(&cpu, &node);
	if (to_cpu && copied(false, &cpu, to_cpu, sizeof(cpu)))
		return -EFAULT;
	return to_node ? copied(false, &node, to_node, sizeof(node)) : 0;
}

static long binds(pid_t thread, size_t size, void *set)
{
	uint64_t cpus[THREAD_MASK] = { 0 };

	if (size > sizeof(cpus))
		size = sizeof(cpus);
	if (copied(true, cpus, set, size))
		return -EFAULT;
	return sched_setaffinity(thread, sizeof(cpus), (void *)cpus) ? -errno : 0;
}

/* Like the kernel, it returns how many bytes it wrote. */
static long get_affinity(pid_t thread, size_t size, void *set)
{
	uint32_t nr = exact.watch.setup.machine->topo.nr_cpus;
	size_t most = (nr + 63ul) / 64 * sizeof(uint64_t);
	uint64_t cpus[THREAD_MASK];

	if (size % sizeof(uint64_t) || size < nr / 8)
		return -EINVAL;
	if (sched_getaffinity(thread, sizeof(cpus), (void *)cpus))
		return -errno;
	if (most > sizeof(cpus))
		most = sizeof(cpus);
	if (size > most)
		size = most;
	return copied(false, cpus, set, size) ? -EFAULT : (long)size;
}

/*
 * For prctl() the kernel uses the name of the host thread, which executes all threads. So that
 * thread takes the name for a moment, and the kernel checks @name. The comm file of the calling
 * thread then keeps the name.
 */
static bool names(long what, char *name, long *result)
{
	char path[64], first[NAME] = "", own[NAME + 1] = "";
	bool sets = what == PR_SET_NAME;
	int file;

	if ((!sets && what != PR_GET_NAME) || exact_self->tid == exact.pid)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", exact_self->tid);
	file = PASS(open(path, sets ? O_WRONLY | O_CLOEXEC : O_RDONLY | O_CLOEXEC));
	if (file < 0)
		return false;
	KERNEL(SYS_prctl, PR_GET_NAME, first);
	if (!sets) {
		ssize_t size = PASS(read(file, own, NAME));

		if (size > 0)
			own[size - 1] = '\0'; /* a line feed */
		KERNEL(SYS_prctl, PR_SET_NAME, own);
	}
	*result = KERNEL(SYS_prctl, what, name) ? -errno : 0;
	if (sets && !*result) {
		KERNEL(SYS_prctl, PR_GET_NAME, own);
		PASS(write(file, own, strlen(own)));
	}
	KERNEL(SYS_prctl, PR_SET_NAME, first);
	PASS(close(file));
	return true;
}

bool asks_call(long number, const long *arg, long *result)
{
	switch (number) {
	case SYS_clock_gettime:
		*result = get_time((clockid_t)arg[0], (void *)arg[1]);
		return true;
	case SYS_getcpu:
		*result = get_cpu((void *)arg[0], (void *)arg[1]);
		return true;
	/* -ESRCH: the thread is of another process, and the kernel answers the call. */
	case SYS_sched_setaffinity:
		*result = binds((pid_t)arg[0], (size_t)arg[1], (void *)arg[2]);
		return *result != -ESRCH;
	case SYS_sched_getaffinity:
		*result = get_affinity((pid_t)arg[0], (size_t)arg[1], (void *)arg[2]);
		return *result != -ESRCH;
	case SYS_prctl:
		return names(arg[0], (char *)arg[1], result);
	default:
		return false;
	}
}
