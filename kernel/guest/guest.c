// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Helpers of the guest programs. They keep no state, so threads may call them in parallel. */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void sleep_ns(uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000),
			       .tv_nsec = (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

uint64_t rng_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

unsigned int rng_below(uint64_t *state, unsigned int limit)
{
	return (unsigned int)(((rng_next(state) >> 32) * limit) >> 32);
}

int read_text(const char *path, char *text, size_t size)
{
	size_t used = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	text[0] = '\0';
	if (fd < 0)
		return -1;
	while (used + 1 < size) {
		ssize_t got = read(fd, text + used, size - 1 - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int error = errno;

			close(fd);
			text[0] = '\0';
			errno = error;
			return -1;
		}
		if (got == 0)
			break;
		used += (size_t)got;
	}
	close(fd);
	text[used] = '\0';
	return (int)used;
}

int write_text(const char *path, const char *text)
{
	size_t length = 0;
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t put;
	int error;

	if (fd < 0)
		return -1;
	while (text[length])
		length++;
	/* One write: sysfs and cgroup files take each write as a separate value. */
	put = write(fd, text, length);
	error = put < 0 ? errno : EIO;
	close(fd);
	if (put == (ssize_t)length)
		return 0;
	errno = error;
	return -1;
}

void parse_cpu_list(const char *text, struct cpu_list *list)
{
	list->nr = 0;
	while (*text >= '0' && *text <= '9') {
		char *end;
		long first = strtol(text, &end, 10), last = first;

		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (long cpu = first; cpu <= last && cpu < GUEST_CPUS && list->nr < GUEST_CPUS;
		     cpu++)
			list->cpu[list->nr++] = (int)cpu;
		if (*end != ',')
			break;
		text = end + 1;
	}
}

int online_cpus(struct cpu_list *list)
{
	char text[4096];

	list->nr = 0;
	if (read_text("/sys/devices/system/cpu/online", text, sizeof(text)) < 0)
		return -1;
	parse_cpu_list(text, list);
	return 0;
}

int set_deadline(int tid, uint64_t runtime_ns, uint64_t period_ns)
{
	/* The part of the kernel's struct sched_attr that deadlines need; glibc 2.36 has none. */
	const struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = sizeof(attr),
		   .policy = SCHED_DEADLINE,
		   .runtime = runtime_ns,
		   .deadline = period_ns / 2,
		   .period = period_ns };

	return (int)syscall(SYS_sched_setattr, tid, &attr, 0);
}

unsigned int parse_seconds(const char *program, const char *text)
{
	char *end = NULL;
	long seconds = text ? strtol(text, &end, 10) : 0;

	if (!text || end == text || *end || seconds < 1 || seconds > 86400) {
		fprintf(stderr, "%s: give the seconds to run, 1 to 86400\n", program);
		exit(2);
	}
	return (unsigned int)seconds;
}
