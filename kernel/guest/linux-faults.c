// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * linux-faults SECONDS deadline|dying|cpuset: shows that a fault that the tests excuse is a fault
 * of Linux itself.
 *
 * deadline. A deadline task that has used up its runtime is throttled until its replenishment timer
 * fires. If it leaves the class meanwhile, the kernel ignores the timer (dl_task_timer() handles
 * deadline tasks only), and the task stays marked as throttled. The kernel would clear the mark at
 * the task's 0-lag time. If the task comes back earlier, it is enqueued as throttled, without a
 * timer: it never runs again, though every CPU is idle. So a thread spins and becomes a deadline
 * task with 0.1 ms in every 100 ms. It overruns that by a tick, so that its 0-lag time is seconds
 * away. It is a FIFO task for 200 ms, and a deadline task again. Nothing else runs then, so that a
 * second without a step of it is not an accident.
 *
 * dying. sched_cpu_dying() warns when the CPU counts more tasks than the stopper. The fair class's
 * deadline server counts while it is queued, whether or not there is a fair task. Its timer queues
 * it a second after its start (by the hot-plug thread at the latest), and the kernel stops it only
 * after the warning. So the timer must fire while the stopper waits for those of all other CPUs.
 * That takes long when they print to a serial line, which cannot be preempted. So one thread on
 * each of them writes to the kernel log.
 *
 * cpuset. The kernel keeps the CPUs that a task requested by sched_setaffinity() while it sleeps,
 * also when all of them go offline. If the task then moves to the root cpuset, cpuset_attach_task()
 * requests all possible CPUs. The scheduler reduces these to the task's own request, finds none of
 * them online, and refuses, which cpuset_attach_task() does not expect. So a task requests the last
 * CPU and sleeps, the CPU goes offline, and the task goes to a cpuset with another CPU and back.
 *
 * Exit status: 0 if the fault occurred; 1 if not, then remove its entry from the list of known
 * faults (guestlog.py); 4 (skip) if there is one CPU.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MSEC 1000000ull
#define SKIP 4

static _Atomic uint64_t steps;
static _Atomic int tid;

static void *spin(void *unused)
{
	(void)unused;
	atomic_store(&tid, (int)syscall(SYS_gettid));
	for (;;)
		atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
	return NULL;
}

static bool make_deadline(void)
{
	if (set_deadline(atomic_load(&tid), MSEC / 10, 100 * MSEC) == 0)
		return true;
	printf("no deadline task: %s\n", strerror(errno));
	return false;
}

static void make_fifo(int who, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	sched_setscheduler(who, SCHED_FIFO, &param);
}

static uint64_t steps_in(uint64_t ns)
{
	uint64_t before = atomic_load(&steps);

	sleep_ns(ns);
	return atomic_load(&steps) - before;
}

/* Return: 1 if the task was forgotten, 0 if not, -1 if the test could not run. */
static int try_once(void)
{
	uint64_t later, outside;

	if (!make_deadline())
		return -1;
	sleep_ns(30 * MSEC);
	make_fifo(atomic_load(&tid), 1);
	sleep_ns(200 * MSEC);
	if (!make_deadline())
		return -1;
	/* It may run on until the scheduler picks another task. */
	sleep_ns(200 * MSEC);
	later = steps_in(1000 * MSEC);
	make_fifo(atomic_load(&tid), 1);
	outside = steps_in(100 * MSEC);
	printf("%llu steps in 1,000 ms as a deadline task, %llu in 100 ms outside of the class\n",
	       (unsigned long long)later, (unsigned long long)outside);
	return !later && outside;
}

static bool forgets_deadline_task(uint64_t end)
{
	pthread_t thread;
	int forgotten;

	errno = pthread_create(&thread, NULL, spin, NULL);
	if (errno) {
		printf("no thread: %s\n", strerror(errno));
		return false;
	}
	while (!atomic_load(&tid))
		sleep_ns(MSEC);
	do {
		forgotten = try_once();
		/* After the 0-lag time, with all marks cleared. */
		sleep_ns(1000 * MSEC);
	} while (!forgotten && now_ns() < end);
	return forgotten > 0;
}

static pid_t start_writer(int cpu)
{
	char text[900];
	cpu_set_t set;
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	make_fifo(0, 5);
	memset(text, '.', sizeof(text));
	memcpy(text, "<4># ", 5);
	fd = open("/dev/kmsg", O_WRONLY);
	for (;;) {
		if (write(fd, text, sizeof(text)) < 0)
			sleep_ns(10 * MSEC);
	}
}

/* Does a new record contain this text? Reads all of them. */
static bool log_has(int fd, const char *what)
{
	char record[2048];
	bool found = false;

	for (;;) {
		ssize_t got = read(fd, record, sizeof(record) - 1);

		/* EPIPE: the kernel overwrote some before this read. */
		if (got < 0 && errno != EPIPE)
			return found;
		record[got > 0 ? got : 0] = '\0';
		if (strstr(record, what)) {
			printf("%.*s\n", (int)strcspn(record, "\n"), record);
			found = true;
		}
	}
}

static bool counts_the_server(const struct cpu_list *cpus, uint64_t end)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK), dying = cpus->cpu[cpus->nr - 1];
	char path[80];
	bool seen = false;

	if (fd < 0) {
		printf("cannot read the kernel log: %s\n", strerror(errno));
		return false;
	}
	lseek(fd, 0, SEEK_END);
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", dying);
	while (!seen && now_ns() < end) {
		pid_t writer[GUEST_CPUS];

		for (unsigned int i = 0; i + 1 < cpus->nr; i++)
			writer[i] = start_writer(cpus->cpu[i]);
		if (write_text(path, "0") < 0)
			printf("CPU %d cannot be taken offline: %s\n", dying, strerror(errno));
		for (unsigned int i = 0; i + 1 < cpus->nr; i++) {
			kill(writer[i], SIGKILL);
			waitpid(writer[i], NULL, 0);
		}
		write_text(path, "1");
		seen = log_has(fd, "not properly vacated");
	}
	close(fd);
	return seen;
}

#define PLAY "/sys/fs/cgroup/linux-faults"

/* Does the kernel log say that it refused to move a task that requested @cpu? */
static bool refuses_mask(int cpu, uint64_t end)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	char path[80], who[16];
	cpu_set_t set;
	bool seen = false;
	pid_t pid;

	if (fd < 0) {
		printf("cannot read the kernel log: %s\n", strerror(errno));
		return false;
	}
	lseek(fd, 0, SEEK_END);
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	write_text("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset");
	mkdir(PLAY, 0755);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pid = fork();
	if (!pid) {
		sched_setaffinity(0, sizeof(set), &set);
		for (;;)
			pause();
	}
	snprintf(who, sizeof(who), "%d", pid);
	sleep_ns(200 * MSEC);
	if (write_text(path, "0") < 0 || write_text(PLAY "/cpuset.cpus", "0") < 0)
		printf("not tried: %s\n", strerror(errno));
	while (!seen && now_ns() < end) {
		if (write_text(PLAY "/cgroup.procs", who) < 0)
			printf("the task cannot be moved: %s\n", strerror(errno));
		write_text("/sys/fs/cgroup/cgroup.procs", who);
		seen = log_has(fd, "cpuset_attach_task");
		sleep_ns(100 * MSEC);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	write_text(path, "1");
	rmdir(PLAY);
	close(fd);
	return seen;
}

int main(int argc, char **argv)
{
	unsigned int seconds = parse_seconds("linux-faults", argc > 1 ? argv[1] : NULL);
	uint64_t end = now_ns() + seconds * 1000 * MSEC;
	struct cpu_list cpus;
	bool seen;

	if (online_cpus(&cpus) < 0 || cpus.nr < 2) {
		printf("one CPU: the faults cannot occur\n");
		return SKIP;
	}
	make_fifo(0, 95);
	if (argc > 2 && !strcmp(argv[2], "dying"))
		seen = counts_the_server(&cpus, end);
	else if (argc > 2 && !strcmp(argv[2], "cpuset"))
		seen = refuses_mask(cpus.cpu[cpus.nr - 1], end);
	else
		seen = forgets_deadline_task(end);
	if (!seen)
		printf("the fault did not occur\n");
	return seen ? 0 : 1;
}
