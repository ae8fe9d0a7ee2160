// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * churn SECONDS [COMMAND-NAME]: takes CPUs offline and back, and makes and destroys cpuset
 * partitions, until the time is over. It moves the processes named COMMAND-NAME (rt-storm by
 * default) into partitions and out again. At the end it restores everything.
 *
 * A partition is a root domain. A new partition takes CPUs out of one cpupri map and overload set
 * and puts them into others while RT tasks run there. The thread for CPUs and the thread for
 * partitions work on overlapping CPUs on purpose. A CPU that goes offline may be the last one of a
 * partition, which then becomes invalid.
 *
 * The kernel may refuse single requests (a deadline task needs the CPU, another partition owns it);
 * churn counts them. Exit status: 1 if the kernel refused all requests of one kind, or the machine
 * was not restored at the end; 4 (skip) if there is one CPU.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CGROUP	 "/sys/fs/cgroup"
#define MSEC	 1000000ull
#define PARTS	 3
#define ATTEMPTS 100

struct tally {
	unsigned int done, refused;
};

static struct cpu_list cpus;
static const char *moved_name;
static _Atomic bool stop;

static void quit(int number)
{
	(void)number;
	atomic_store(&stop, true);
}

static int set_online(int cpu, bool online)
{
	char path[80];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return write_text(path, online ? "1" : "0");
}

static void *hotplug_thread(void *argument)
{
	struct tally *tally = argument;
	uint64_t rng = 1;
	int off[4];

	while (!atomic_load(&stop)) {
		/* CPU 0 stays online. At most four others go, and at most half of them. */
		unsigned int most = (cpus.nr - 1 + 1) / 2, want, nr = 0;

		most = most < 4 ? most : 4;
		want = 1 + rng_below(&rng, most);
		while (nr < want) {
			int cpu = cpus.cpu[1 + rng_below(&rng, cpus.nr - 1)];

			if (set_online(cpu, false) < 0) {
				tally->refused++;
				want--;
				continue;
			}
			tally->done++;
			off[nr++] = cpu;
		}
		sleep_ns((20 + rng_below(&rng, 200)) * MSEC);
		while (nr--) {
			while (set_online(off[nr], true) < 0 && errno == EBUSY)
				sleep_ns(MSEC);
		}
		sleep_ns((20 + rng_below(&rng, 300)) * MSEC);
	}
	return NULL;
}

static int write_group(unsigned int part, const char *file, const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), CGROUP "/churn%u/%s", part, file);
	return write_text(path, text);
}

/* The processes of that name, searched again each time: they come and go. */
static unsigned int find_processes(pid_t *found, unsigned int most)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	unsigned int nr = 0;

	while (proc && nr < most && (entry = readdir(proc))) {
		char path[300], name[32];

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		if (read_text(path, name, sizeof(name)) <= 0)
			continue;
		name[strcspn(name, "\n")] = '\0';
		if (!strcmp(name, moved_name))
			found[nr++] = (pid_t)atoi(entry->d_name);
	}
	if (proc)
		closedir(proc);
	return nr;
}

/* A partition needs its own CPUs; part p of PARTS takes a random range within its third. */
static void choose_range(unsigned int part, uint64_t *rng, char *text, size_t size)
{
	unsigned int width = (cpus.nr - 1) / PARTS ? (cpus.nr - 1) / PARTS : 1;
	unsigned int first = 1 + part * width, length = 1 + rng_below(rng, width);

	first += rng_below(rng, width - length + 1);
	snprintf(text, size, "%d-%d", cpus.cpu[first], cpus.cpu[first + length - 1]);
}

static void make_partition(unsigned int part, uint64_t *rng, struct tally *tally)
{
	char path[64], range[32], state[128], pid[16];
	pid_t found[16];
	unsigned int nr;

	snprintf(path, sizeof(path), CGROUP "/churn%u", part);
	if (mkdir(path, 0755) < 0) {
		tally->refused++;
		return;
	}
	choose_range(part, rng, range, sizeof(range));
	if (write_group(part, "cpuset.cpus", range) < 0 ||
	    write_group(part, "cpuset.cpus.partition", rng_below(rng, 4) ? "root" : "isolated") <
		    0) {
		tally->refused++;
		return;
	}
	snprintf(path, sizeof(path), CGROUP "/churn%u/cpuset.cpus.partition", part);
	if (read_text(path, state, sizeof(state)) <= 0 || strstr(state, "invalid")) {
		tally->refused++;
		return;
	}
	tally->done++;
	nr = find_processes(found, 16);
	if (!nr)
		return;
	snprintf(pid, sizeof(pid), "%d", (int)found[rng_below(rng, nr)]);
	/*
	 * Refused for deadline tasks without bandwidth there, and for a process that has ended.
	 */
	write_group(part, "cgroup.procs", pid);
}

/* Move all back to the root group and remove the group. Return: false if it still exists. */
static bool drop_partition(unsigned int part)
{
	char path[64], procs[64], text[4096];

	snprintf(path, sizeof(path), CGROUP "/churn%u", part);
	snprintf(procs, sizeof(procs), CGROUP "/churn%u/cgroup.procs", part);
	for (unsigned int i = 0; i < ATTEMPTS; i++) {
		char *state = NULL;

		if (rmdir(path) == 0 || errno == ENOENT)
			return true;
		write_group(part, "cpuset.cpus.partition", "member");
		if (read_text(procs, text, sizeof(text)) > 0) {
			for (char *pid = strtok_r(text, "\n", &state); pid;
			     pid = strtok_r(NULL, "\n", &state))
				write_text(CGROUP "/cgroup.procs", pid);
		}
		sleep_ns(i * MSEC);
	}
	return false;
}

static void *partition_thread(void *argument)
{
	struct tally *tally = argument;
	uint64_t rng = 2;

	while (!atomic_load(&stop)) {
		unsigned int part = rng_below(&rng, PARTS);

		if (cpus.nr <= PARTS)
			part = 0;
		if (drop_partition(part) && rng_below(&rng, 4))
			make_partition(part, &rng, tally);
		sleep_ns((20 + rng_below(&rng, 300)) * MSEC);
	}
	return NULL;
}

/* Restore: all CPUs online, no group left. */
static unsigned int restore(void)
{
	struct cpu_list now;
	unsigned int faults = 0;

	for (unsigned int part = 0; part < PARTS; part++) {
		if (!drop_partition(part)) {
			printf("partition %u cannot be removed: %s\n", part, strerror(errno));
			faults++;
		}
	}
	for (unsigned int i = 1; i < cpus.nr; i++)
		set_online(cpus.cpu[i], true);
	if (online_cpus(&now) < 0 || now.nr != cpus.nr) {
		printf("%u of %u CPUs are online again\n", now.nr, cpus.nr);
		faults++;
	}
	return faults;
}

int main(int argc, char **argv)
{
	unsigned int seconds = parse_seconds("churn", argc > 1 ? argv[1] : NULL), faults;
	struct tally hotplug = { 0 }, partitions = { 0 };
	uint64_t end = now_ns() + seconds * 1000 * MSEC;
	const struct sched_param above = { .sched_priority = 91 };
	pthread_t plugger, partitioner;

	/* A higher priority than the storm's: otherwise this program would hardly run. */
	if (sched_setscheduler(0, SCHED_FIFO, &above) < 0) {
		printf("cannot become an RT task: %s\n", strerror(errno));
		return 1;
	}
	moved_name = argc > 2 ? argv[2] : "rt-storm";
	signal(SIGTERM, quit);
	if (online_cpus(&cpus) < 0 || cpus.nr < 2) {
		printf("one CPU: none can be taken offline\n");
		return 4;
	}
	if (write_text(CGROUP "/cgroup.subtree_control", "+cpuset") < 0) {
		printf("no cpusets in " CGROUP ": %s\n", strerror(errno));
		return 1;
	}
	if (pthread_create(&plugger, NULL, hotplug_thread, &hotplug) ||
	    pthread_create(&partitioner, NULL, partition_thread, &partitions)) {
		printf("cannot start threads\n");
		return 1;
	}
	while (!atomic_load(&stop) && now_ns() < end)
		sleep_ns(100 * MSEC);
	atomic_store(&stop, true);
	pthread_join(plugger, NULL);
	pthread_join(partitioner, NULL);
	faults = restore();
	printf("CPUs offline %u times (%u refused), partitions %u (%u refused)\n", hotplug.done,
	       hotplug.refused, partitions.done, partitions.refused);
	if (!hotplug.done || !partitions.done)
		faults++;
	return faults ? 1 : 0;
}
