// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * rt-storm SECONDS [THREADS [SEED [deadline]]]: hundreds of RT threads wake, move and re-prioritise
 * each other at random (storm-work.c). A monitor finds threads that the scheduler forgot
 * (storm-check.c). Meanwhile `churn` may take CPUs offline and change cpusets.
 *
 * The main thread is the driver. It wakes a quarter of all workers at once, so that more RT tasks
 * become runnable than there are CPUs. When little idle time is left, the driver makes all sleeps
 * longer. Otherwise the load would depend on the host.
 *
 * With "deadline", workers are sometimes deadline tasks. That is a separate mode, because Linux
 * itself warns of wrong deadline bandwidth (__sub_running_bw) if root domains are rebuilt.
 *
 * Exit status: 0 if every worker made progress and ended on request; 1 if not, with the findings on
 * stdout. The same seed makes the same choices, not the same interleaving.
 */
#define _GNU_SOURCE
#include "storm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BURST_NS   (100 * MSEC)
#define LIMIT_NS   (3 * SEC)
#define REPORT_NS  (10 * SEC)
#define MAX_FAULTS 20
#define MAX_PACE   100

struct context {
	struct storm *storm;
	unsigned int self;
};

static _Atomic unsigned int faults;

static void die(const char *what)
{
	fprintf(stderr, "rt-storm: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void make_fifo(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		die("cannot become an RT task");
}

static struct storm *make_storm(unsigned int threads, uint64_t seed)
{
	struct storm *storm = mmap(NULL, sizeof(*storm), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct rlimit files = { 4 * STORM_THREADS, 4 * STORM_THREADS };
	pthread_mutexattr_t attr;
	struct cpu_list cpus;

	if (storm == MAP_FAILED)
		die("no memory");
	if (online_cpus(&cpus) < 0 || !cpus.nr)
		die("cannot read which CPUs are online");
	storm->nr_cpus = cpus.nr;
	memcpy(storm->cpu, cpus.cpu, sizeof(storm->cpu));
	if (!threads)
		threads = cpus.nr * 6 > 200 ? cpus.nr * 6 : 200;
	storm->nr_threads = threads < STORM_THREADS ? threads : STORM_THREADS;
	storm->nr_procs = 4;
	storm->seed = seed;
	atomic_store(&storm->pace, 1);

	setrlimit(RLIMIT_NOFILE, &files);
	for (unsigned int i = 0; i < storm->nr_threads; i++) {
		if (pipe2(storm->worker[i].pipes, O_CLOEXEC | O_NONBLOCK) < 0)
			die("no pipes");
	}
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	for (unsigned int i = 0; i < STORM_LOCKS; i++) {
		if (pthread_mutex_init(&storm->lock[i], &attr))
			die("cannot make locks with priority inheritance");
	}
	return storm;
}

static void *worker_thread(void *argument)
{
	struct context *context = argument;

	storm_worker_run(context->storm, context->self);
	return NULL;
}

/* One process of workers: process number p has every nr_procs-th of them. */
static void run_process(struct storm *storm, unsigned int process)
{
	static struct context context[STORM_THREADS];
	static pthread_t thread[STORM_THREADS];
	pthread_attr_t attr;
	unsigned int nr = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (unsigned int i = process; i < storm->nr_threads; i += storm->nr_procs) {
		storm->worker[i].process = (int)process;
		context[nr] = (struct context){ storm, i };
		errno = pthread_create(&thread[nr], &attr, worker_thread, &context[nr]);
		if (errno)
			die("cannot start a thread");
		nr++;
	}
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}

static void *monitor_thread(void *argument)
{
	struct storm *storm = argument;

	make_fifo(97);
	while (!atomic_load(&storm->stop) && atomic_load(&faults) < MAX_FAULTS) {
		sleep_ns(SEC / 2);
		atomic_fetch_add(&faults, storm_check(storm, LIMIT_NS));
		fflush(stdout);
	}
	return NULL;
}

/* Idle share of all CPUs' time since the last call, in percent. */
static unsigned int idle_percent(void)
{
	static unsigned long long last_idle, last_all;
	unsigned long long value[8] = { 0 }, all = 0, idle, percent;
	char text[512];

	if (read_text("/proc/stat", text, sizeof(text)) <= 0 ||
	    sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &value[0], &value[1],
		   &value[2], &value[3], &value[4], &value[5], &value[6], &value[7]) != 8)
		return 50;
	for (unsigned int i = 0; i < 8; i++)
		all += value[i];
	idle = value[3] + value[4];
	percent = all > last_all ? (idle - last_idle) * 100 / (all - last_all) : 50;
	last_idle = idle;
	last_all = all;
	return percent < 100 ? (unsigned int)percent : 100;
}

static void adapt_pace(struct storm *storm)
{
	unsigned int idle = idle_percent(), pace = atomic_load(&storm->pace);

	if (idle < 25 && pace < MAX_PACE)
		atomic_store(&storm->pace, pace + 1 + pace / 2);
	else if (idle > 50 && pace > 1)
		atomic_store(&storm->pace, pace - 1 - pace / 4);
}

static void report(struct storm *storm, unsigned int seconds)
{
	uint64_t all = 0, least = UINT64_MAX;

	for (unsigned int i = 0; i < storm->nr_threads; i++) {
		uint64_t rounds = atomic_load(&storm->worker[i].rounds);

		all += rounds;
		least = rounds < least ? rounds : least;
	}
	printf("%u s: %llu rounds (least %llu), %llu wakes, %llu moves, %llu levels, "
	       "%llu deadlines, %llu refused, pace %u\n",
	       seconds, (unsigned long long)all, (unsigned long long)least,
	       (unsigned long long)atomic_load(&storm->wakes),
	       (unsigned long long)atomic_load(&storm->moves),
	       (unsigned long long)atomic_load(&storm->levels),
	       (unsigned long long)atomic_load(&storm->deadlines),
	       (unsigned long long)atomic_load(&storm->refused), atomic_load(&storm->pace));
	fflush(stdout);
}

static void drive(struct storm *storm, unsigned int seconds)
{
	uint64_t start = now_ns(), end = start + seconds * SEC, next_report = start + REPORT_NS;
	uint64_t next_pace = start + SEC;

	for (unsigned int burst = 0; now_ns() < end && atomic_load(&faults) < MAX_FAULTS; burst++) {
		sleep_ns(BURST_NS * (1 + atomic_load(&storm->pace) / 8));
		for (unsigned int i = burst % 4; i < storm->nr_threads; i += 4)
			storm_wake(storm, i, burst & 4);
		if (now_ns() >= next_pace) {
			adapt_pace(storm);
			next_pace = now_ns() + SEC;
		}
		if (now_ns() >= next_report) {
			report(storm, (unsigned int)((now_ns() - start) / SEC));
			next_report += REPORT_NS;
		}
	}
}

/* All workers end by themselves now: no CPU gets new work. */
static void finish(struct storm *storm)
{
	uint64_t until;
	unsigned int left = storm->nr_procs;

	atomic_store(&storm->stop, true);
	for (unsigned int i = 0; i < storm->nr_threads; i++)
		storm_wake(storm, i, true);
	until = now_ns() + 60 * SEC;
	while (left && now_ns() < until) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid <= 0) {
			storm_check(storm, LIMIT_NS);
			sleep_ns(20 * MSEC);
			continue;
		}
		left--;
		if (status) {
			printf("process %d ended with status %#x\n", (int)pid,
			       (unsigned int)status);
			atomic_fetch_add(&faults, 1);
		}
	}
	if (!left)
		return;
	for (unsigned int i = 0; i < storm->nr_threads; i++) {
		if (atomic_load(&storm->worker[i].state) == STORM_ENDED)
			continue;
		storm_describe(storm, i, "did not end");
		atomic_fetch_add(&faults, 1);
	}
	for (unsigned int i = 0; i < storm->nr_procs; i++)
		kill(storm->pid[i], SIGKILL);
}

int main(int argc, char **argv)
{
	unsigned int seconds = parse_seconds("rt-storm", argc > 1 ? argv[1] : NULL);
	unsigned int threads = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	struct storm *storm = make_storm(threads, seed);
	uint64_t until;
	pthread_t monitor;

	storm->with_deadlines = argc > 4 && !strcmp(argv[4], "deadline");

	printf("%u threads in %u processes on %u CPUs, seed %llu\n", storm->nr_threads,
	       storm->nr_procs, storm->nr_cpus, (unsigned long long)seed);
	fflush(stdout);
	make_fifo(95);
	for (unsigned int i = 0; i < storm->nr_procs; i++) {
		/* Only the parent stores the pid, because the child shares this memory. */
		pid_t pid = fork();

		if (pid < 0)
			die("cannot fork");
		if (pid == 0)
			run_process(storm, i);
		storm->pid[i] = pid;
	}
	until = now_ns() + 60 * SEC;
	while (atomic_load(&storm->started) < storm->nr_threads && now_ns() < until)
		sleep_ns(10 * MSEC);
	if (atomic_load(&storm->started) < storm->nr_threads) {
		printf("%u of %u threads started within a minute\n", atomic_load(&storm->started),
		       storm->nr_threads);
		return 1;
	}
	atomic_store(&storm->go, 1);
	syscall(SYS_futex, &storm->go, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	if (pthread_create(&monitor, NULL, monitor_thread, storm))
		die("cannot start the monitor");
	drive(storm, seconds);
	atomic_store(&storm->stop, true);
	pthread_join(monitor, NULL);
	finish(storm);
	report(storm, seconds);
	if (atomic_load(&storm->forgotten))
		printf("%llu of %llu deadline rounds forgotten\n",
		       (unsigned long long)atomic_load(&storm->forgotten),
		       (unsigned long long)atomic_load(&storm->deadlines));
	/* Linux itself forgets some deadline rounds. If more are forgotten, it is our fault. */
	if (atomic_load(&storm->forgotten) > 5 + atomic_load(&storm->deadlines) / 10)
		atomic_fetch_add(&faults, 1);
	if (atomic_load(&faults))
		printf("%u faults\n", atomic_load(&faults));
	return atomic_load(&faults) ? 1 : 0;
}
