// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * alloc-fail SECONDS: makes a cpuset partition repeatedly. In each attempt the kernel fails a
 * different one of its allocations for the partition, until each has failed once or the time is
 * over. A partition is a root domain, so the kernel also allocates a priority map, an overload set
 * and walks. Whatever fails, the machine must go on, a later attempt must succeed, and no memory
 * may leak (kmemleak).
 *
 * Exit status 4 (skip) if the kernel lacks CONFIG_FAILSLAB with its files in debugfs, or there are
 * fewer than 4 CPUs. The partition's own CPUs are 1 and 2.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CGROUP	 "/sys/fs/cgroup"
#define GROUP	 CGROUP "/alloc-fail"
#define FAILSLAB "/sys/kernel/debug/failslab"
#define KMEMLEAK "/sys/kernel/debug/kmemleak"
#define SECOND	 1000000000ull
#define SKIP	 4
#define MOST	 5000 /* allocations in one partition; a few hundred are usual */

static int set_countdown(int fd, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	return pwrite(fd, text, (size_t)len, 0) == len ? 0 : -1;
}

static long countdown(int fd)
{
	char text[16] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? strtol(text, NULL, 10) : -1;
}

static bool is_partition(void)
{
	char state[128];

	return read_text(GROUP "/cpuset.cpus.partition", state, sizeof(state)) > 0 &&
	       !strstr(state, "invalid") && !strncmp(state, "root", 4);
}

/*
 * Make the partition while its @n-th allocation fails, and remove it. Return: 0 if an allocation
 * failed, -1 for an error. If none failed, because the partition made fewer than @n allocations,
 * return how many fewer. @refused: counts partitions that were not made.
 */
static long make_with_failure(int fd, unsigned int n, unsigned int *refused)
{
	long left;
	int made;

	if (set_countdown(fd, n) < 0)
		return -1;
	made = write_text(GROUP "/cpuset.cpus.partition", "root");
	left = countdown(fd);
	if (left < 0 || set_countdown(fd, 0) < 0)
		return -1;
	*refused += made < 0 || !is_partition();
	if (write_text(GROUP "/cpuset.cpus.partition", "member") < 0) {
		printf("failure %u: the partition cannot be removed: %s\n", n, strerror(errno));
		return -1;
	}
	return left;
}

static unsigned int common_divisor(unsigned int a, unsigned int b)
{
	return b ? common_divisor(b, a % b) : a;
}

/* Return: the number of failed allocations, -1: another error. */
static int walk_allocations(int fd, uint64_t end)
{
	unsigned int refused = 0, total, step, nr;
	long left = make_with_failure(fd, MOST, &refused);

	if (left <= 0 || left >= MOST || refused) {
		printf("the first try must succeed: partition %s, %ld of %d allocations left\n",
		       refused ? "refused" : "made", left, MOST);
		return -1;
	}
	total = MOST - (unsigned int)left;
	/*
	 * Try all of them, but not in order: if the time ends early, some of every kind have
	 * failed.
	 */
	for (step = total * 5 / 8 + 1; common_divisor(step, total) > 1; step++)
		;
	for (nr = 0; nr < total && now_ns() < end; nr++) {
		if (make_with_failure(fd, 1 + nr * step % total, &refused) < 0)
			return -1;
	}
	printf("%u of %u allocations were made to fail, once each; %u partitions were not made\n",
	       nr, total, refused);
	return (int)nr;
}

/* Objects that kmemleak reports as leaks, allocated for a root domain or by us. */
static unsigned int leaks(void)
{
	static char text[1 << 20];
	unsigned int found = 0;

	/* kmemleak reports objects older than 5 seconds that a second scan confirms. */
	for (int i = 0; i < 2; i++) {
		sleep_ns(6 * SECOND);
		if (write_text(KMEMLEAK, "scan") < 0) {
			printf("this kernel has no kmemleak: leaks are not searched for\n");
			return 0;
		}
	}
	if (read_text(KMEMLEAK, text, sizeof(text)) <= 0)
		return 0;
	for (char *next, *block = text; block; block = next) {
		next = strstr(block + 1, "unreferenced object");
		if (next)
			next[-1] = '\0';
		if (strstr(block, "schedshard") || strstr(block, "rootdomain") ||
		    strstr(block, "sched_domains")) {
			printf("%s\n", block);
			found++;
		}
	}
	return found;
}

int main(int argc, char **argv)
{
	unsigned int seconds = parse_seconds("alloc-fail", argc > 1 ? argv[1] : NULL);
	uint64_t end = now_ns() + seconds * SECOND;
	struct cpu_list cpus;
	unsigned int lost;
	int fd, failed;

	fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fd < 0 || write_text(FAILSLAB "/ignore-gfp-wait", "N") < 0) {
		printf("this kernel cannot make allocations fail (CONFIG_FAILSLAB)\n");
		return SKIP;
	}
	if (online_cpus(&cpus) < 0 || cpus.nr < 4) {
		printf("fewer than 4 CPUs: no partition\n");
		return SKIP;
	}
	/* Otherwise each failure prints its stack, hundreds of times. */
	write_text(FAILSLAB "/verbose", "0");
	if (write_text(CGROUP "/cgroup.subtree_control", "+cpuset") < 0 ||
	    (mkdir(GROUP, 0755) < 0 && errno != EEXIST) ||
	    write_text(GROUP "/cpuset.cpus", "1-2") < 0) {
		printf("no cpuset in " CGROUP ": %s\n", strerror(errno));
		return 1;
	}
	failed = walk_allocations(fd, end);
	if (failed <= 0)
		return 1;
	if (write_text(GROUP "/cpuset.cpus.partition", "root") < 0 || !is_partition()) {
		printf("no partition could be made after the failures\n");
		return 1;
	}
	write_text(GROUP "/cpuset.cpus.partition", "member");
	if (rmdir(GROUP) < 0) {
		printf("the group cannot be removed: %s\n", strerror(errno));
		return 1;
	}
	lost = leaks();
	if (lost)
		printf("%u blocks of memory leaked\n", lost);
	return lost ? 1 : 0;
}
